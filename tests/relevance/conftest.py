from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.relevance import linear


@pytest.fixture(scope="package")
def task() -> tuple[list[str], sp.csr_array, list[str]]:
    """60 made-up documents of 25 words, 5 labels, 10 unseen documents."""
    random = np.random.default_rng(0)
    texts = [" ".join(f"word{word}" for word in random.integers(25, size=12)) for _ in range(70)]
    labels = sp.csr_array((random.random((60, 5)) < 0.3).astype(np.float32))
    return texts[:60], labels, texts[60:]


@pytest.fixture
def all_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 16 bits, as they were solved, so that they can be compared with others'."""
    monkeypatch.setattr(linear, "LAST", 0)
