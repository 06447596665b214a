"""Small configurations for tests, and what is wrong with others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from plant_plugin.config import Config, load_config
from plant_plugin.config.rules import VECTORS
from plant_plugin.errors import ConfigError

PLANT = {
    "model_name": "PLANT",
    "training_file": "demo:train",
    "test_file": "demo:test",
    "network_config": {"encoder": "bigru"},
}
KIM_CNN = {**PLANT, "model_name": "KimCNN", "network_config": {"filter_sizes": [2]}, "embed_file": VECTORS[-1]}


def plant(**changes: Any) -> Config:
    return load_config(None, {**PLANT, **changes})


def problems_of(path: Path | str | None = None, **changes: Any) -> dict[str, str]:
    """What is wrong, by key (without line and value)."""
    with pytest.raises(ConfigError) as caught:
        load_config(path, changes)
    return {re.split(r"[: ]", str(problem.where))[0]: problem.message for problem in caught.value.problems}
