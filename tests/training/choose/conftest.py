"""plant.yml on small files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_task import write_splits

from plant_plugin.config import Config, load_config

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
