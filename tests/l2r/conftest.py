"""Documents of different lengths."""

from __future__ import annotations

import pytest
import torch
from plain_lstm import LENGTHS, WORDS


@pytest.fixture
def text() -> torch.Tensor:
    random = torch.Generator().manual_seed(3)
    words = torch.randint(1, WORDS, (3, 23), generator=random)
    return words * (torch.arange(23) < LENGTHS[:, None])
