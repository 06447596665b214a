from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError
from plant_plugin.model.trained import load_model
from plant_plugin.training.run import run

Made = Callable[..., Config]


def read(path: str | Path) -> Any:
    return json.loads(Path(path).read_text())


def test_training_can_start_from_a_checkpoint(made: Made, tmp_path: Path) -> None:
    config = made()
    run(config)
    short = {"stage2__epochs": 1, "limit_train_batches": 0.01, "strategy": "end_to_end"}
    cold = run(made(**short, result_dir=str(tmp_path / "cold")))
    warm = run(made(**short, result_dir=str(tmp_path / "warm"), checkpoint_path=str(config.checkpoint_dir)))
    assert warm["metrics"]["nDCG@5"] > cold["metrics"]["nDCG@5"] + 0.1
    with pytest.raises(CheckpointError, match="vocabulary"):
        run(
            made(
                **short,
                result_dir=str(tmp_path / "other"),
                checkpoint_path=str(config.checkpoint_dir),
                min_vocab_freq=40,
            )
        )


def test_a_checkpoint_of_other_labels_or_vocabulary_is_refused(made: Made, tmp_path: Path) -> None:
    config = made()
    run(config)
    folder = Path(config.checkpoint_dir)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    vocabulary = read(other / "vocabulary.json")
    vocabulary["words"] = vocabulary["words"][::-1]
    (other / "vocabulary.json").write_text(json.dumps(vocabulary))
    with pytest.raises(CheckpointError, match="vocabulary"):
        load_model(other)
    labels = tmp_path / "labels.txt"
    labels.write_text("A\nB\n")
    with pytest.raises(CheckpointError, match="labels"):
        run(
            made(
                eval=True,
                checkpoint_path=str(folder),
                label_file=str(labels),
                monitor_metrics=["P@1"],
                val_metric="P@1",
            )
        )


def test_a_torn_checkpoint_is_recognised(made: Made, tmp_path: Path) -> None:
    config = made(stage1__epochs=1, stage2__epochs=1)
    run(config)
    load_model(config.checkpoint_dir)
    for name in ("model.safetensors", "config.json", "labels.txt", "relevance.npz"):
        torn = tmp_path / f"torn {name}"
        shutil.copytree(config.checkpoint_dir, torn)
        path = torn / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if name != "labels.txt" else b"A\n")
        with pytest.raises(CheckpointError):
            load_model(torn)
