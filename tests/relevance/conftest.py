from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture(scope="package")
def task() -> tuple[list[str], sp.csr_array, list[str]]:
    """60 made-up documents of 25 words, 5 labels, 10 unseen documents."""
    random = np.random.default_rng(0)
    texts = [" ".join(f"word{word}" for word in random.integers(25, size=12)) for _ in range(70)]
    labels = sp.csr_array((random.random((60, 5)) < 0.3).astype(np.float32))
    return texts[:60], labels, texts[60:]
