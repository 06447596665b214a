"""The best labels of each document, and what is counted from them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.ranking import average_precisions, best_scored, contributions, overall, top_labels

SCORES = np.array([[0.5, 0.9, 0.5, 0.5], [-np.inf, 0.1, -np.inf, -np.inf]], np.float32)
TRUTH = sp.csr_matrix([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])


def as_sparse(scores: np.ndarray) -> sp.csr_matrix:
    rows, columns = np.nonzero(~np.isneginf(scores))
    return sp.csr_matrix((scores[rows, columns], (rows, columns)), shape=scores.shape)


@pytest.mark.parametrize("form", [np.asarray, as_sparse])
def test_ties_go_to_the_lower_label_and_what_was_not_scored_is_none(form) -> None:
    scores = form(SCORES)
    assert top_labels(scores, 3).tolist() == [[1, 0, 2], [1, 4, 4]]
    first, second = best_scored(scores, 2)
    assert (first[0].tolist(), second[0].tolist()) == ([1, 0], [1])
    assert second[1] == pytest.approx([0.1])


@pytest.mark.parametrize("form", [np.asarray, as_sparse])
def test_average_precision_by_hand(form) -> None:
    assert average_precisions(form(SCORES), TRUTH) == pytest.approx([(1 / 3 + 2 / 4) / 2, 1 / 2])


def test_ranked_metrics_by_hand() -> None:
    values = overall(contributions(top_labels(SCORES, 3), TRUTH, np.array([1.0, 2.0, 3.0, 4.0])))
    assert values["P"] == pytest.approx([1 / 2, 1 / 4, 2 / 6])
    assert values["R"] == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    assert values["PSP"] == pytest.approx([2 / 8, 2 / 13, 5 / 13])
