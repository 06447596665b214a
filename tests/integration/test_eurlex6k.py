"""PLANT on real text: a few steps on EURLEX-6K, with the packaged configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.training.run import run

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    "choice",
    [{}, {"strategy": "end_to_end"}],
    ids=["two_stages", "one_stage"],
)
def test_a_few_steps_beat_chance_by_far(shared: Path, tmp_path: Path, choice: dict[str, str]) -> None:
    folder = shared / "data" / "eurlex6k"
    if not folder.is_dir():
        pytest.skip("needs data/eurlex6k in the shared folder")
    files = {"training_file": "train.txt.xz", "val_file": "valid.txt.xz", "test_file": "test.txt.xz"}
    config = load_config(
        "plant_eurlex6k.yml",
        {
            **{key: str(folder / name) for key, name in files.items()},
            **choice,
            "stage1.epochs": 1,
            "stage2.epochs": 1,
            "limit_train_batches": 0.1,
            "limit_val_batches": 0.2,
            "limit_test_batches": 0.2,
            "result_dir": str(tmp_path / "runs"),
            "cache_dir": str(tmp_path / "cache"),
            "silent": True,
            "cpu": True,
        },
    )
    result = run(config)
    assert result["counts"]["labels"] == 2632
    assert result["metrics"]["P@1"] > 0.25
    assert result["counts"]["labels_unseen_in_training"] == 183
