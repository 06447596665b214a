"""The second training of ``refit`` scores as the first has found on validation documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError
from plant_plugin.relevance.planted_scores import ARRAYS, PlantedScores, read_weights
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.report.run import Run
from plant_plugin.training.first_pass import as_first, with_first_weights
from plant_plugin.training.run import run


@pytest.mark.parametrize("model", ["ridge", "none"])
def test_log_odds_and_thresholds_are_those_of_the_first_training(made: Callable[..., Config], model: str) -> None:
    config = made(strategy="end_to_end", stage2__epochs=1, planted_scores__model=model, refit="train+val")
    result = run(config)
    folder, first = config.checkpoint_dir, config.checkpoint_dir / FIRST_PASS
    now, before = (json.loads((each / "config.json").read_text())["log_odds"] for each in (folder, first))
    assert now == before
    assert now["offset"] != 0
    assert 1 not in (now["slope_below"], now["slope_above"])
    assert result["thresholds"]["micro"] == pytest.approx(now["at_offset"])
    assert (folder / "thresholds.json").read_text() == (first / "thresholds.json").read_text()
    assert model == "none" or read_weights(first) == read_weights(folder)


def test_without_a_first_training_all_stays(tmp_path: Path) -> None:
    planted: Any = PlantedScores(None, np.zeros(2, np.float32), adjustment=0.5)  # type: ignore[arg-type]
    scoring: Any = type("Scoring", (), {"run": Run(tmp_path, silent=True)})()
    assert with_first_weights(planted, scoring.run) is planted
    assert as_first(scoring) is None
    (tmp_path / FIRST_PASS).mkdir()
    with pytest.raises(CheckpointError, match="no such file"):
        with_first_weights(planted, scoring.run)
    with pytest.raises(CheckpointError):
        as_first(scoring)
    np.savez(tmp_path / FIRST_PASS / ARRAYS, **{name: np.float64(2) for name in planted.chosen})  # type: ignore[arg-type]
    assert with_first_weights(planted, scoring.run).chosen == dict.fromkeys(planted.chosen, 2.0)
