"""plant.yml on small files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_task import write_splits

from plant_plugin.config import Config, load_config
from plant_plugin.training.pace import Pace, StagePace

SMALL = {"network_config.hidden_size": 16, "network_config.embed_dim": 16, "network_config.pool_size": 8, "cpu": True}


@pytest.fixture
def mine(tmp_path: Path) -> Callable[..., Config]:
    write_splits(tmp_path)

    def make(**changes: Any) -> Config:
        given = {"training_file": str(tmp_path / "train.txt"), "result_dir": str(tmp_path / "runs"), "silent": True}
        given |= {"cache_dir": str(tmp_path / "cache"), "predict_out_path": "", **SMALL}
        given |= {name.replace("__", "."): value for name, value in changes.items()}
        return load_config("plant.yml", {key: value for key, value in given.items() if value != "leave"})

    return make


@pytest.fixture
def taking() -> Callable[[float], Callable[[Config], Pace]]:
    """Stands for the measuring: an epoch of either stage takes so many seconds."""

    def measure_as(seconds: float) -> Callable[[Config], Pace]:
        stage = StagePace(1, 8, seconds, 0.0, 0.0)
        return lambda config: Pace(0.0, {"stage1": stage, "stage2": stage}, 1)

    return measure_as
