"""``plant pretrain-lm`` from its command line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from made_up_task import write_splits

from plant_plugin.cli import plant

SMALL = {"embed_dim": 8, "hidden_size": 8, "num_layers": 1, "ranker_size": 4, "ranker_hidden": 4}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_splits(tmp_path)
    content = {
        "training_file": str(tmp_path / "train.txt"), "val_file": str(tmp_path / "valid.txt"),
        "model_name": "PLANTL2R", "network_config": {**SMALL, "language_model": str(tmp_path / "lm")},
        "cpu": True, "seed": 1, "result_dir": str(tmp_path / "runs"),
    }  # fmt: skip
    path = tmp_path / "l2r.yml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_it_trains_says_perplexities_and_reads_what_is_there_when_called_again(config: Path) -> None:
    first = CliRunner().invoke(plant, ["pretrain-lm", str(config), "--passes", "1"], catch_exceptions=False)
    assert first.exit_code == 0, first.output
    assert "forward epoch 1/1: validation perplexity" in first.output
    assert first.output.splitlines()[-1] == f"written: {config.parent / 'lm'}"
    assert (config.parent / "lm" / "forward.safetensors").is_file()
    again = CliRunner().invoke(plant, ["pretrain-lm", str(config), "--passes", "1"], catch_exceptions=False)
    assert "epoch" not in again.output, "what has ended is not trained again"
    assert again.output.startswith("forward: perplexity ")


def test_a_configuration_without_a_folder_is_refused(config: Path) -> None:
    result = CliRunner().invoke(plant, ["pretrain-lm", str(config), "--model_name", "PLANT"])
    assert result.exit_code != 0
    assert "language_model" in result.output
