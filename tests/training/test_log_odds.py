"""Sums of logits and scores become log odds: with their probabilities a model says how often it is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from plant_plugin.evaluation.thresholds import tune
from plant_plugin.relevance.chosen_weights import ChosenWeights
from plant_plugin.training.log_odds import Pairs, in_log_odds, log_odds_of

Batch = tuple[Any, Any]


def drawn(documents: int, labels: int, seed: int = 0) -> tuple[np.ndarray, sp.csr_array]:
    """Sums, and truth that is drawn with the probabilities that a third of each sum is the log odds of."""
    random = np.random.default_rng(seed)
    sums = random.normal(-16, 12, (documents, labels)).astype(np.float32)
    return sums, sp.csr_array((random.random(sums.shape) < expit(sums / 3)).astype(np.float32))


def fitted(batches: Iterable[Batch], threshold: float) -> ChosenWeights:
    pairs, read = Pairs(), list(batches)
    counted = pairs.counted(lambda: iter(read))
    assert counted is not None
    assert [batch[0] is expected[0] for batch, expected in zip(counted(), read, strict=True)]
    return ChosenWeights(offset=threshold, **pairs.slopes(threshold))


def probabilities(sums: np.ndarray, weights: ChosenWeights) -> np.ndarray:
    log_odds = sums - np.float32(weights.offset)
    weights.make_log_odds(log_odds)
    shares: np.ndarray = expit(log_odds)
    return shares


def test_probabilities_are_shares_of_true_pairs() -> None:
    sums, truth = drawn(500, 40)
    threshold = tune([(sums, truth)]).thresholds["micro"]
    weights = fitted([(sums[:300], truth[:300]), (sums[300:], truth[300:])], threshold)
    assert 0 < weights.slope_above < weights.slope_below  # the threshold of micro-F1 lies where fewer than half are
    new_sums, new_truth = drawn(500, 40, seed=1)
    shares, true = probabilities(new_sums, weights), new_truth.toarray()
    before, sure = expit(new_sums - threshold), shares > 0.5
    assert abs(shares[sure].mean() - true[sure].mean()) < 0.04 < abs(before[sure].mean() - true[sure].mean())
    assert abs(shares.mean() - true.mean()) < 0.01


def test_thresholds_predict_what_they_predicted_and_micro_f1_has_a_half() -> None:
    sums, truth = drawn(200, 40)
    pairs = Pairs()
    planted: Any = ChosenWeights(weight=1.0)  # all that is read of planted scores
    counted = pairs.counted(lambda: [(sums, truth)])
    assert counted is not None
    tuned = tune(counted())
    weighed, scaled = in_log_odds(planted, tuned, pairs)
    assert scaled.thresholds["micro"] == 0
    log_odds = sums - np.float32(weighed.offset)
    weighed.make_log_odds(log_odds)
    for name, threshold in tuned.thresholds.items():
        np.testing.assert_array_equal(log_odds > np.float32(scaled.thresholds[name]), sums > np.float32(threshold))
    np.testing.assert_array_equal(np.argsort(log_odds, kind="stable"), np.argsort(sums, kind="stable"))


def test_of_a_shortlist_only_what_is_scored_is_read() -> None:
    sums, truth = drawn(200, 40)
    listed = sp.csr_array(np.where(np.arange(40) < 10, sums, 0))
    not_scored = np.where(np.arange(40) < 10, sums, np.float32(-np.inf))
    left = fitted([(sums[:, :10], sp.csr_array(truth[:, :10]))], 3.0).chosen
    assert fitted([(listed, truth)], 3.0).chosen == fitted([(not_scored, truth)], 3.0).chosen == pytest.approx(left)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e9, -1e9])
def test_sums_that_say_nothing(value: float) -> None:
    sums, truth = np.full((5, 4), value, np.float32), sp.csr_array(np.eye(5, 4, dtype=np.float32))
    same = fitted([(sums, truth)], float(np.clip(value, -65504, 65504)))
    assert (same.slope_below, same.slope_above) == (1, 1)
    for threshold in (-1.0, 0.0, 1.0):
        nothing = fitted([(sums, sp.csr_array((5, 4), dtype=np.float32))], threshold)
        assert min(nothing.slope_below, nothing.slope_above) > 0
        assert np.isfinite([nothing.slope_below, nothing.slope_above]).all()


def test_without_validation_documents_nothing_is_counted() -> None:
    assert Pairs().counted(None) is None
    assert Pairs().slopes(0.5) == {"slope_below": 1, "slope_above": 1}


def test_where_all_is_right_probabilities_are_not_1() -> None:
    truth = np.eye(30, 30)
    weights = fitted([((10 * truth).astype(np.float32), sp.csr_array(truth))], 5.0)
    assert 0.9 < probabilities(np.array([10.0]), weights)[0] < 1 - 1e-3
    assert 1e-5 < probabilities(np.array([0.0]), weights)[0] < 0.01


def test_where_few_are_right_labels_stay_apart() -> None:
    random = np.random.default_rng(2)
    sums = random.normal(size=(300, 40)).astype(np.float32)
    truth = sp.csr_array((random.random(sums.shape) < 0.05).astype(np.float32))
    assert probabilities(np.array([sums.max()]), fitted([(sums, truth)], 1.0))[0] > 0.7


@pytest.mark.parametrize(("slope", "constant", "unit"), [(1.0, -2.0, 1.0), (0.5, 0.3, 20.0), (2.0, -4.0, 0.01)])
def test_scores_become_the_log_odds_that_they_were_drawn_with(slope: float, constant: float, unit: float) -> None:
    random = np.random.default_rng(0)
    scores = (random.normal(size=20_000) * unit).astype(np.float32)
    truth = random.random(20_000) < 1 / (1 + np.exp(-(slope * scores / unit + constant)))
    found, shift = log_odds_of(scores, truth)
    assert found * unit == pytest.approx(slope, abs=0.1)
    assert shift == pytest.approx(constant, abs=0.1)


def test_scores_that_tell_nothing_or_everything_make_finite_weights() -> None:
    for scores, truth in (
        (np.zeros(9), np.arange(9) < 2),
        (np.arange(9.0), np.arange(9) > 4),
        (np.ones(3), np.ones(3) > 0),
    ):
        slope, constant = log_odds_of(scores.astype(np.float32), truth)
        assert slope > 0
        assert np.isfinite([slope, constant]).all()
