"""Thresholds of a trained model, whose scores become log odds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plant_plugin.config import Config
from plant_plugin.relevance.chosen_weights import ChosenWeights
from plant_plugin.training import thresholds
from plant_plugin.training.run import run

Made = Callable[..., Config]


def test_a_probability_of_a_half_is_the_threshold_of_micro_f1(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"strategy": "end_to_end", "stage2__epochs": 1, "planted_scores__model": "ridge"}
    config = made(**short)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    assert result["planted_scores"]["offset"] != 0
    assert result["thresholds"]["micro"] == 0
    assert result["metrics"]["Micro-F1@0.5"] == result["metrics"]["Micro-F1@micro"]
    monkeypatch.setattr(thresholds, "in_log_odds", lambda planted, tuned, pairs: (planted, tuned))  # the offset stays 0
    as_before = run(made(**short, result_dir=str(folder.parent / "as_before")))
    weights = ChosenWeights(**result["planted_scores"])
    for name in ("micro", "macro"):
        threshold = np.array(as_before["thresholds"][name] - weights.offset, np.float32)
        weights.make_log_odds(threshold)
        assert threshold == pytest.approx(result["thresholds"][name], abs=1e-5)
    for name, value in as_before["metrics"].items():
        if "@0.5" not in name:
            assert result["metrics"][name] == pytest.approx(value, abs=1e-5), name
