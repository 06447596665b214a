"""Thresholds of a trained model, whose scores become log odds, with and without planted scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plant_plugin import Predictor
from plant_plugin.config import Config
from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds
from plant_plugin.training import thresholds
from plant_plugin.training.run import run

Made = Callable[..., Config]
KINDS = {"planted": {"planted_scores__model": "ridge"}, "network": {"planted_scores__model": "none"}}


@pytest.mark.parametrize("kind", KINDS)
def test_thresholds_predict_the_same_and_are_log_odds(made: Made, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    short = {"strategy": "end_to_end", "stage2__epochs": 1, **KINDS[kind]}
    config = made(**short)
    result = run(config)
    folder = Path(config.checkpoint_dir)
    log_odds = LogOdds(**json.loads((folder / "config.json").read_text())["log_odds"])
    assert log_odds.offset != 0
    assert result["thresholds"]["micro"] == pytest.approx(log_odds.at_offset)
    monkeypatch.setattr(thresholds, "in_log_odds", lambda tuned, pairs: (NOT_FITTED, tuned))
    as_before = run(made(**short, result_dir=str(folder.parent / "as_before")))
    for name in ("micro", "macro"):
        threshold = log_odds.of(np.array([as_before["thresholds"][name]], np.float32))
        assert threshold == pytest.approx(result["thresholds"][name], abs=1e-5)
    for name, value in as_before["metrics"].items():
        if "@0.5" not in name:
            assert result["metrics"][name] == pytest.approx(value, abs=1e-5), name


def test_a_network_alone_has_its_log_odds_wherever_it_scores(made: Made) -> None:
    """In a test of the folder, in predictions, explanations and their faithfulness."""
    network = {"strategy": "end_to_end", "stage2__epochs": 1, **KINDS["network"]}
    config = made(**network)
    result, folder = run(config), Path(config.checkpoint_dir)
    again = run(made(**network, eval=True, checkpoint_path=str(folder)))
    assert again["calibration"] == result["calibration"]
    assert again["metrics"] == pytest.approx(result["metrics"], abs=1e-6)
    predictor, text = Predictor.load(folder, device="cpu"), "filler1 sign3x filler2"
    [logits] = predictor.logits([text])
    raw, made_log_odds = Predictor.load(folder, device="cpu"), predictor.log_odds
    raw.log_odds = NOT_FITTED
    np.testing.assert_array_equal(logits, made_log_odds.of(raw.logits([text])[0]))
    assert not np.allclose(logits, raw.logits([text])[0])
    for label in predictor.explain(text, top=5).labels:
        assert label.contribution is not None
        total = label.contribution.sum() + label.elsewhere + label.bias
        assert label.planted == 0
        assert total == pytest.approx(logits[predictor.column_of[label.scored.label]], abs=1e-4)
