from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.errors import CheckpointError
from plant_plugin.report.record import write_run_record
from plant_plugin.report.run import Run
from plant_plugin.training import weights
from plant_plugin.training.run import read_documents, run


def test_names_of_labels_that_changed_since_a_run_was_stopped_are_noticed(tmp_path: Path) -> None:
    lines = [f"L{number % 12}\tword{number % 12} of document {number}\n" for number in range(60)]
    (tmp_path / "train.txt").write_text("".join(lines))
    (tmp_path / "label_names.tsv").write_text("L0\tfirst\nL1\tsecond\nL2\tthird\n")
    values = {"training_file": str(tmp_path / "train.txt"), "cache_dir": str(tmp_path / "cache"), "silent": True}
    config = load_config("plant", {**values, "choose": False, "strategy": "planted_scores"})
    config = dataclasses.replace(config, checkpoint_dir=tmp_path / "run")
    record = Run(tmp_path / "run", silent=True)
    write_run_record(record.folder, {"config_hash": config.hash(), "finished": False})
    read_documents(config, record)
    read_documents(config, record)
    (tmp_path / "label_names.tsv").write_text("L0\tfirst\nL1\tanother\nL2\tthird\n")
    with pytest.raises(CheckpointError, match="changed since the run was started: names of labels"):
        read_documents(config, record)


def test_the_second_training_of_refit_weighs_names_as_the_first_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "NAME_WEIGHTS", (6.0,))
    lines = [f"L{number % 12}\tword{number % 12} of document {number}\n" for number in range(60)]
    (tmp_path / "train.txt").write_text("".join(lines))
    (tmp_path / "test.txt").write_text("".join(lines[:12]))
    (tmp_path / "label_names.tsv").write_text("".join(f"L{number}\tword{number}\n" for number in range(12)))
    files = {f"{name}_file": str(tmp_path / f"{file}.txt") for name, file in (("training", "train"), ("test", "test"))}
    values = {**files, "cache_dir": str(tmp_path / "cache"), "result_dir": str(tmp_path / "runs"), "silent": True}
    values |= {"choose": False, "strategy": "planted_scores", "planted_scores.model": "ridge", "refit": "train+val"}
    result = run(load_config("plant", values))
    assert result["planted_scores"]["name_weight"] == 6.0
