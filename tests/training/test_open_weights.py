from __future__ import annotations

import numpy as np
import pytest

from plant_plugin.training.open_weights import log_odds_of


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
