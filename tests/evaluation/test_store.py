"""Scores of a split on disk, and what is accepted as scores and truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import PlantError
from plant_plugin.evaluation.store import ScoreStore, checked, without

SCORES = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
TRUTH = sp.csr_matrix([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("elements", [2, 1000])
def test_scores_come_back_label_by_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, elements: int) -> None:
    monkeypatch.setattr("plant_plugin.evaluation.ranking.BLOCK_ELEMENTS", elements)
    store = ScoreStore(3, tmp_path)
    store.append(SCORES, TRUTH)
    store.append(sp.csr_matrix(([7.0], ([0], [1])), shape=(1, 3)), sp.csr_matrix((1, 3)))
    columns = np.concatenate([block for _, block, _ in store.blocks()])
    np.testing.assert_array_equal(columns.T, [*SCORES, [-np.inf, 7, -np.inf]])
    assert store.documents().tolist() == [1, 0, 2]
    assert store.true_scores().tolist() == [1, 3, 6]
    assert list(tmp_path.iterdir()) == []  # the file has no name
    store.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlantError, match="cannot be kept on disk"):
        ScoreStore(3, tmp_path / "file" / "scores")


def test_truth_is_copied_and_made_uniform() -> None:
    untidy = sp.csr_matrix((np.array([3, 0, 2]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    _, truth = checked(np.zeros((1, 3)), untidy)
    assert truth.toarray().tolist() == [[1, 0, 1]]
    assert untidy.nnz == 3
    with pytest.raises(PlantError, match="NaN"):
        checked(np.full((1, 3), np.nan), untidy)


@pytest.mark.parametrize("form", [np.array, sp.csr_matrix])
def test_removed_pairs_are_neither_scored_nor_true(form) -> None:
    scores, truth = without(*checked(form(SCORES), TRUTH), sp.csr_matrix([[1, 0, 0], [0, 1, 0]]))
    values = scores.toarray() if sp.issparse(scores) else scores
    assert np.argwhere(np.isneginf(values)).tolist() == [[0, 0], [1, 1]]
    assert truth.toarray().tolist() == [[0, 0, 1], [0, 0, 1]]
