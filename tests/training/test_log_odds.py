"""Sums of logits and scores become log odds: with their probabilities a model says how often it is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from plant_plugin.evaluation.thresholds import tune
from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds
from plant_plugin.training import log_odds
from plant_plugin.training.log_odds import Pairs, in_log_odds, log_odds_of

Batch = tuple[Any, Any]


def drawn(documents: int, labels: int, seed: int = 0) -> tuple[np.ndarray, sp.csr_array]:
    """Sums, and truth that is drawn with the probabilities that a third of each sum is the log odds of."""
    random = np.random.default_rng(seed)
    sums = random.normal(-16, 12, (documents, labels)).astype(np.float32)
    return sums, sp.csr_array((random.random(sums.shape) < expit(sums / 3)).astype(np.float32))


def fitted(batches: Iterable[Batch], threshold: float) -> LogOdds:
    pairs, read = Pairs(), list(batches)
    counted = pairs.counted(lambda: iter(read))
    assert counted is not None
    assert [batch[0] is expected[0] for batch, expected in zip(counted(), read, strict=True)]
    return pairs.fitted(threshold)


def probabilities(sums: np.ndarray, weights: LogOdds) -> np.ndarray:
    shares: np.ndarray = expit(weights.of(sums))
    return shares


def test_probabilities_are_shares_of_true_pairs() -> None:
    sums, truth = drawn(500, 40)
    threshold = tune([(sums, truth)]).thresholds["micro"]
    weights = fitted([(sums[:300], truth[:300]), (sums[300:], truth[300:])], threshold)
    assert [weights.slope_below, weights.slope_above] == pytest.approx([1 / 3, 1 / 3], abs=0.03)
    assert weights.at_offset == pytest.approx(threshold / 3, abs=0.1) != 0
    new_sums, new_truth = drawn(500, 40, seed=1)
    shares, true = probabilities(new_sums, weights), new_truth.toarray()
    before, sure = expit(new_sums - threshold), shares > 0.5
    assert abs(shares[sure].mean() - true[sure].mean()) < 0.02 < abs(before[sure].mean() - true[sure].mean())
    assert abs(shares.mean() - true.mean()) < 0.005


def test_both_sides_of_the_threshold_have_slopes_of_their_own() -> None:
    random = np.random.default_rng(3)
    sums = random.uniform(-6, 6, (2000, 40)).astype(np.float32)
    odds = -1 + np.where(sums > 0, 0.25, 0.75) * sums
    made = fitted([(sums, sp.csr_array((random.random(sums.shape) < expit(odds)).astype(np.float32)))], 0.0)
    found = [made.offset, made.slope_below, made.slope_above, made.at_offset]
    assert found == pytest.approx([0, 0.75, 0.25, -1], abs=0.05)


def test_thresholds_predict_what_they_predicted() -> None:
    sums, truth = drawn(200, 40)
    pairs = Pairs()
    counted = pairs.counted(lambda: [(sums, truth)])
    assert counted is not None
    tuned = tune(counted())
    made, scaled = in_log_odds(tuned, pairs)
    assert scaled.f1.keys() == scaled.thresholds.keys() == {"micro", "macro"}
    odds = made.of(sums)
    for name, threshold in tuned.thresholds.items():
        np.testing.assert_array_equal(odds > np.float32(scaled.thresholds[name]), sums > np.float32(threshold))
    np.testing.assert_array_equal(np.argsort(odds, kind="stable"), np.argsort(sums, kind="stable"))


def test_pairs_that_nobody_would_look_at_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Far below, as many as there are, some are true wherever they lie."""
    random = np.random.default_rng(4)
    sums = np.concatenate([random.uniform(-6, 6, (2000, 12)), random.uniform(-60, -30, (2000, 400))], axis=1)
    truth = random.random(sums.shape) < expit(np.where(sums > -10, 0.5 * sums - 5, -8))
    batch, near = (sums.astype(np.float32), sp.csr_array(truth.astype(np.float32))), np.array([0, 3, 6], np.float32)
    monkeypatch.setattr(log_odds, "AMONG", 30)
    assert probabilities(near, fitted([batch], 4.0)) == pytest.approx(expit(0.5 * near - 5), abs=0.03)
    monkeypatch.setattr(log_odds, "AMONG", np.inf)
    assert abs(probabilities(near, fitted([batch], 4.0)) - expit(0.5 * near - 5)).max() > 0.05


def test_of_a_shortlist_only_what_is_scored_is_read() -> None:
    sums, truth = drawn(200, 40)
    listed = sp.csr_array(np.where(np.arange(40) < 10, sums, 0))
    not_scored = np.where(np.arange(40) < 10, sums, np.float32(-np.inf))
    left = vars(fitted([(sums[:, :10], sp.csr_array(truth[:, :10]))], 3.0))
    assert vars(fitted([(listed, truth)], 3.0)) == vars(fitted([(not_scored, truth)], 3.0)) == pytest.approx(left)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e9, -1e9])
def test_sums_that_say_nothing(value: float) -> None:
    sums, truth = np.full((5, 4), value, np.float32), sp.csr_array(np.eye(5, 4, dtype=np.float32))
    same = fitted([(sums, truth)], float(np.clip(value, -65504, 65504)))
    assert probabilities(np.array([same.offset]), same)[0] == pytest.approx(0.2, abs=0.03)
    for threshold in (-1.0, 0.0, 1.0):
        nothing = fitted([(sums, sp.csr_array((5, 4), dtype=np.float32))], threshold)
        assert min(nothing.slope_below, nothing.slope_above) > 0
        assert np.isfinite(list(vars(nothing).values())).all()


def test_without_validation_documents_nothing_is_counted() -> None:
    assert Pairs().counted(None) is None
    assert Pairs().fitted(0.5) == NOT_FITTED


def test_where_all_is_right_probabilities_are_not_1() -> None:
    truth = np.eye(30, 30)
    weights = fitted([((10 * truth).astype(np.float32), sp.csr_array(truth))], 5.0)
    assert 0.9 < probabilities(np.array([10.0]), weights)[0] < 1 - 1e-3
    assert 1e-5 < probabilities(np.array([0.0]), weights)[0] < 0.01


def test_where_the_lower_are_likelier_labels_keep_their_order() -> None:
    random = np.random.default_rng(2)
    sums = random.normal(size=(300, 40)).astype(np.float32)
    truth = sp.csr_array((random.random(sums.shape) < expit(-3 - sums)).astype(np.float32))
    shares = probabilities(np.array([-2.0, 0.0, 1.0, 1.5, 3.0], np.float32), fitted([(sums, truth)], 1.0))
    assert (np.diff(shares) > 0).all()
    assert 0.01 < shares[0] < shares[-1] < 0.2


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
