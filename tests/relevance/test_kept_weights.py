from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.relevance import kept_weights
from plant_plugin.relevance.kept_weights import prune
from plant_plugin.relevance.ridge import RidgeOptions

WEIGHTS = sp.csr_array(np.array([[1, -8, 2, 0, -4, 0.9], [0, 0, 0, 0, 0, 0], [0, 3, 0, 0, 0, -2]], np.float32))


@pytest.mark.parametrize(
    ("least", "top", "kept"),
    [(1, 9, [0, 1, 2, 4]), (5, 9, [0, 1, 2, 4, 5]), (1, 2, [1, 4]), (300, 3, [1, 2, 4])],
)
def test_what_adds_little_to_a_label_is_not_kept(
    least: int, top: int, kept: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Squares of 64, 16, 4, 1 and 0.81: the first three are 97.9 % of 85.81, so that a fourth is kept."""
    monkeypatch.setattr(kept_weights, "LEAST", least)
    before = WEIGHTS.copy()
    found = prune(WEIGHTS, RidgeOptions(top=top, kept=0.98))
    assert found.indices[: found.indptr[1]].tolist() == kept
    assert found[[2]].toarray().tolist() == [[0, 3, 0, 0, 0, -2]]
    assert abs(WEIGHTS - before).nnz == 0
