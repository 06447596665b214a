"""Expected calibration error and reliability curve, from batches of any kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit

from plant_plugin.evaluation.calibration import BINS, Calibrated, Calibration


def computed(*batches: tuple[np.ndarray | sp.csr_matrix, np.ndarray]) -> Calibrated:
    calibration = Calibration()
    assert [batch[0] is given[0] for batch, given in zip(calibration.reading(batches), batches, strict=True)]
    return calibration.compute()


def literal(probabilities: np.ndarray, truth: np.ndarray, least: float = 0.0) -> float:
    error = 0.0
    asked = probabilities >= least
    for low in np.arange(BINS) / BINS:
        inside = asked & (probabilities >= low) & ((probabilities < low + 1 / BINS) | (low + 1 / BINS >= 1))
        if inside.any():
            error += inside.sum() * abs(probabilities[inside].mean() - truth[inside].mean())
    return error / max(1, asked.sum())


def test_errors_are_those_of_a_literal_count() -> None:
    random = np.random.default_rng(0)
    scores = random.normal(-1, 3, (200, 30)).astype(np.float32)
    truth = (random.random(scores.shape) < expit(scores / 2)).astype(np.float32)
    found = computed((scores[:70], truth[:70]), (scores[70:], truth[70:]))
    probabilities = expit(scores.astype(np.float64))
    assert found["ECE"] == pytest.approx(literal(probabilities, truth))
    assert found["ECE_predicted"] == pytest.approx(literal(probabilities, truth, 0.5))
    assert sum(part["pairs"] for part in found["curve"]) == scores.size
    assert sum(part["pairs"] * part["true"] for part in found["curve"]) == pytest.approx(truth.sum())


def test_a_curve_by_hand() -> None:
    scores = logit(np.array([[0.05, 0.75, 0.79, 0.999999]])).astype(np.float32)
    found = computed((scores, np.array([[0, 1, 0, 1]], np.float32)))
    assert [(part["below"], part["pairs"], part["true"]) for part in found["curve"]] == [
        (0.1, 1, 0),
        (0.8, 2, 0.5),
        (1, 1, 1),
    ]
    assert found["curve"][1]["probability"] == pytest.approx(0.77)
    assert found["ECE"] == pytest.approx((0.05 + 2 * 0.27) / 4, abs=1e-5)
    assert found["ECE_predicted"] == pytest.approx(2 * 0.27 / 3, abs=1e-5)


def test_labels_that_are_not_scored_do_not_count() -> None:
    scores = np.array([[2.0, -np.inf], [-np.inf, -3.0]], np.float32)
    truth = np.array([[1, 1], [1, 0]], np.float32)
    listed = sp.csr_matrix((np.array([2, -3], np.float32), ([0, 1], [0, 1])), shape=(2, 2))
    assert computed((scores, truth)) == computed((listed, truth))
    assert sum(part["pairs"] for part in computed((scores, truth))["curve"]) == 2


def test_nothing() -> None:
    assert Calibration().compute() == {"ECE": 0, "ECE_predicted": 0, "curve": []}
