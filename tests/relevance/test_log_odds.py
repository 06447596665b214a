"""From sums of a network's logits and planted scores to log odds, and folders that are older than their place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds, read_before
from plant_plugin.relevance.planted_scores import ARRAYS

SUMS = np.array([[0, 2, 3, 11, -np.inf]], np.float32)


def test_sums_become_log_odds_with_a_slope_on_each_side_of_the_offset() -> None:
    made = LogOdds(offset=3.0, slope_below=0.5, slope_above=0.25, at_offset=-0.5).of(SUMS)
    np.testing.assert_array_equal(made, [[-2, -1, -0.5, 1.5, -np.inf]])
    assert made.dtype == np.float32
    np.testing.assert_array_equal(NOT_FITTED.of(SUMS), SUMS)


def test_tensors_and_arrays_have_the_same_log_odds() -> None:
    random = np.random.default_rng(0)
    sums, made = random.normal(size=(50, 7)).astype(np.float32), LogOdds(0.3, 1.7, 0.6, -0.4)
    assert torch.equal(made.of(torch.from_numpy(sums)), torch.from_numpy(made.of(sums)))


def test_what_lay_beside_planted_scores_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / ARRAYS, weight=2.0, offset=0.5, slope_below=3.0)
    assert LogOdds(**read_before(tmp_path)) == LogOdds(0.5, 3.0, 1.0)
