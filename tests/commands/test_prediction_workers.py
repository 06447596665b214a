"""The output of two workers is that of one machine, byte for byte."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from made_up_task import made_config, write_splits

from plant_plugin.cli import plant
from plant_plugin.commands import prediction_workers
from plant_plugin.training.run import run

DOCUMENTS = 50
OF_ONE = ("--batch-size", "1")  # chunks of 16 documents


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network after one epoch of each stage."""
    folder = tmp_path_factory.mktemp("model")
    write_splits(folder)
    config = made_config(folder, result_dir=str(folder), stage1__epochs=1, stage2__epochs=1)
    run(config)
    return Path(config.checkpoint_dir)


def predict(model: Path, *arguments: str) -> Result:
    return CliRunner().invoke(plant, ["predict", str(model), "--device", "cpu", *OF_ONE, *arguments])


def write_documents(folder: Path, form: str) -> Path:
    random, path = np.random.default_rng(0), folder / f"documents.{form}"
    texts = [
        " ".join(f"{word}{random.integers(9)}x" for word in random.choice(["sign", "filler"], size))
        for size in random.integers(0, 30, DOCUMENTS)
    ]
    with open(path, "w", encoding="utf-8", newline="") as stream:
        if form == "csv":
            rows = [("id", "text"), *((f"d,{number}", text) for number, text in enumerate(texts))]
            csv.writer(stream).writerows(rows)
        elif form == "jsonl":
            stream.writelines(json.dumps({"id": f"ü{n}", "text": text}) + "\n" for n, text in enumerate(texts))
        else:
            stream.writelines(f"{text}\n" for text in texts)
    return path


@pytest.mark.integration
@pytest.mark.parametrize(("form", "output"), [("jsonl", "jsonl"), ("csv", "csv"), ("txt", "scores")])
def test_the_output_of_two_workers_is_that_of_one_machine(
    two_workers: None, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = (write_documents(Path(), form).name, "--output", output, "--threshold", "0.01", "--top", "3")
    expected = predict(model, *arguments, "--out", "single")
    assert expected.exit_code == 0, expected.output
    outcome = predict(model, *arguments, "--out", "shared", "--ray")
    assert outcome.exit_code == 0, outcome.output
    assert Path("shared").read_bytes() == Path("single").read_bytes()
    assert Path("single").stat().st_size > 1000
    assert f"{DOCUMENTS} documents" in outcome.stderr
    assert outcome.stderr == expected.stderr


@pytest.mark.integration
def test_no_document_is_a_header(two_workers: None, model: Path, tmp_path: Path) -> None:
    (tmp_path / "none.txt").touch()
    outcome = predict(model, str(tmp_path / "none.txt"), "--output", "csv", "--ray")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout == "id,rank,label,probability,name\n"


@pytest.mark.integration
def test_what_a_worker_raises_is_told_as_on_one_machine(two_workers: None, tmp_path: Path) -> None:
    documents = write_documents(tmp_path, "txt")
    outcome = predict(tmp_path, str(documents), "--ray")
    assert outcome.exit_code == 2
    assert outcome.output == predict(tmp_path, str(documents)).output
    assert "no complete PLANT model" in outcome.output


def test_a_bad_line_is_told_before_ray_starts(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(prediction_workers, "cluster")
    documents = tmp_path / "notes.jsonl"
    documents.write_text('{"text": "sign1x"}\nbroken\n')
    outcome = predict(model, str(documents), "--ray")
    assert outcome.exit_code == 2
    assert "notes.jsonl, line 2: no JSON" in outcome.output
    assert "workers cannot read standard input" in predict(model, "--ray").output


@pytest.mark.integration
def test_bad_lines_that_are_passed_over_are_counted_once(two_workers: None, model: Path, tmp_path: Path) -> None:
    documents = tmp_path / "notes.jsonl"
    documents.write_text('{"text": "sign1x", "id": "a"}\nbroken\n{"text": "sign2x", "id": "c"}\n')
    outcome = predict(model, str(documents), "--skip-bad", "--ray")
    assert [json.loads(line)["id"] for line in outcome.stdout.splitlines()] == ["a", "c"]
    assert "bad lines that were passed over: 1 (2)\n" in outcome.stderr


def test_without_ray_the_extra_is_named(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = predict(model, str(write_documents(tmp_path, "txt")), "--ray")
    assert outcome.exit_code == 2
    assert "pip install 'plant-plugin[ray]'" in outcome.output
