"""Memory that shows what nobody wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def nan_in_new_tensors() -> Iterator[None]:
    """New tensors hold NaN until they are written, so that nothing passes by memory that happens to be zero."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)
