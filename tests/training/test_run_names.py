from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.config import load_config
from plant_plugin.errors import CheckpointError, DataError
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


def test_a_thesaurus_beside_the_documents_goes_with_the_model_as_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rdflib", reason="pip install 'plant-plugin[skos]'")
    lines = [f"L{number % 12}\tword{number % 12} of document {number}\n" for number in range(60)]
    (tmp_path / "train.txt").write_text("".join(lines))
    key = "<http://www.w3.org/2004/02/skos/core#prefLabel>"
    (names := tmp_path / "label_names.ttl").write_text("secret")
    values = {"training_file": str(tmp_path / "train.txt"), "cache_dir": str(tmp_path / "cache"), "silent": True}
    values |= {"choose": False, "strategy": "planted_scores", "planted_scores.model": "ridge", "val_size": 0.2}
    values |= {"result_dir": str(tmp_path / "runs")}
    with pytest.raises(DataError, match="line 1: no turtle"):
        run(load_config("plant", values))
    names.write_text("".join(f'<http://x.org/L{number}> {key} "word{number}"@en .\n' for number in range(13)))
    run(load_config("plant", values | {"result_dir": str(tmp_path / "good"), "silent": False}))
    (folder,) = (tmp_path / "good").iterdir()
    table = gzip.decompress((folder / "label_names.tsv.gz").read_bytes()).decode().splitlines()
    assert "L2\tword2\ten" in table
    assert "L12\tword12\ten" in table  # no document has it
    assert "labels are ends of URIs, of 12 of 12 labels" in capsys.readouterr().err
    (new := tmp_path / "new.txt").write_text("word2 of a document\n")
    (other := tmp_path / "other.ttl").write_text(f'<http://x.org/L2> {key} "the second"@en .')
    for flags, name in ([], "word2"), (["--names", str(other)], "the second"):
        predicted = CliRunner().invoke(
            plant, ["predict", str(folder), str(new), "--input", "lines", "--top", "1", *flags]
        )
        assert name in predicted.output
