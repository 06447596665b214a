"""A configuration to search in, on files that only have to exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Make = Callable[..., Path]


@pytest.fixture
def search_file(tmp_path: Path) -> Make:
    """Writes a configuration with two expressions; keyword arguments replace keys, None takes one out."""
    for name in ("train.txt", "valid.txt", "test.txt"):
        (tmp_path / name).write_text("L1\tsome words\n")

    def make(**changes: Any) -> Path:
        values = {
            "training_file": str(tmp_path / "train.txt"),
            "val_file": str(tmp_path / "valid.txt"),
            "test_file": str(tmp_path / "test.txt"),
            "data_name": "made",
            "model_name": "PLANT",
            "network_config": {"encoder": "cnn", "hidden_size": ["grid_search", [8, 16]]},
            "stage1": {"k": ["choice", [5, 10]], "epochs": 3},
            "learning_rate": 0.01,
            "val_metric": "nDCG@5",
            "monitor_metrics": ["P@1"],
            "result_dir": str(tmp_path / "runs"),
            "num_samples": 3,
            "scheduler": None,
            **changes,
        }
        path = tmp_path / "some_tune.yml"
        path.write_text(yaml.safe_dump({name: value for name, value in values.items() if value is not None}))
        return path

    return make
