"""Counts at one threshold, and what follows from them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation import classification
from plant_plugin.evaluation.classification import LabelCounts, Predicted, classified, labels_in_bins

COUNTS = LabelCounts(np.array([1, 0, 0]), np.array([2, 1, 0]), np.array([1, 1, 0]))


@pytest.mark.parametrize(
    ("family", "value"),
    [
        ("Micro-P", 1 / 3),
        ("Micro-R", 1 / 2),
        ("Micro-F1", 2 / 5),
        ("Macro-P", 1 / 6),
        ("Macro-R", 1 / 3),
        ("Macro-F1", 2 / 9),
        ("Macro-F1-present", 1 / 3),
        ("Macro-F1-caml", 2 * (1 / 6) * (1 / 3) / (1 / 2)),
    ],
)
def test_by_hand(family: str, value: float) -> None:
    assert classified(family, COUNTS) == pytest.approx(value)


def test_no_label_to_average_over_is_no_number() -> None:
    assert np.isnan(classified("Macro-F1", COUNTS, np.zeros(3, bool)))


def test_bins_take_both_ends() -> None:
    masks = labels_in_bins(4, np.array([0, 1, 5, 501]))
    assert {name: mask.nonzero()[0].tolist() for name, mask in masks.items() if mask.any()} == {
        None: [0, 1, 2, 3], "0": [0], "1-5": [1, 2], ">500": [3],
    }  # fmt: skip
    assert list(labels_in_bins(4, None)) == [None]


def test_a_label_is_predicted_above_the_threshold_only(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, truth = np.array([[0.5, 0.6], [0.4, 0.9]], np.float32), sp.csr_matrix([[1.0, 0.0], [1.0, 1.0]])
    for form in (scores, sp.csr_matrix(scores)):
        predicted = Predicted(2, 0.5, keep=True)
        predicted.add(form, truth)
        counts = predicted.counts
        assert (counts.hit.tolist(), counts.predicted.tolist(), counts.true.tolist()) == ([0, 1], [0, 2], [2, 1])
        assert predicted.pairs().toarray().tolist() == [[0, 1], [0, 1]]  # type: ignore[union-attr]
    monkeypatch.setattr(classification, "MOST_PAIRS", 1)
    predicted.add(scores, truth)
    assert predicted.pairs() is None
