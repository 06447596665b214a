"""The sum of a network's logits and planted scores, as log odds."""

from __future__ import annotations

import numpy as np

from plant_plugin.relevance.log_odds import SUM_ITSELF, LogOdds


def test_sums_become_log_odds_with_a_slope_on_each_side_of_the_offset() -> None:
    weights = LogOdds(weight=2.0, offset=3.0, slope_below=0.5, slope_above=0.25)
    logits, scores = np.array([[0, 1, 2, 7, -np.inf]], np.float32), np.array([[0, 0.5, 0.5, 2, 0]], np.float32)
    sums = logits.copy()
    weights.add_scores(sums, scores)
    np.testing.assert_array_equal(sums, [[-3, -1, 0, 8, -np.inf]])
    weights.make_log_odds(sums)
    weights.add_last(logits, scores)
    np.testing.assert_array_equal(logits, sums)
    np.testing.assert_array_equal(sums, [[-1.5, -0.5, 0, 2, -np.inf]])
    assert {name: getattr(LogOdds(), name) for name in SUM_ITSELF} == SUM_ITSELF
