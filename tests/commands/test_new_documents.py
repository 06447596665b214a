"""A folder of texts and several files, where a command reads new documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant

TEXTS = 40  # two chunks of 16 documents that are read at once, and a rest


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    rows = "".join(f"{label}\t{text}\n" for label, text in (("A", "fever cough"), ("B", "ankle cast"), ("A", "fever")))
    (folder / "train.txt").write_text(rows * 10, encoding="utf-8")
    done = run("train", folder / "train.txt", "--strategy", "planted_scores", "--result_dir", folder / "runs",
               "--cache_dir", folder / "cache", "--val_size", 6)  # fmt: skip
    assert done.exit_code == 0, done.output
    [made] = (folder / "runs").iterdir()
    return made


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("notes")
    folder.mkdir()
    for number in range(TEXTS):
        (folder / f"{number:02}.txt").write_text(f"fever\nankle {number}\n", encoding="utf-8")
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, [*map(str, arguments)])


def predict(model: Path, *arguments: object) -> Result:
    return run("predict", model, *arguments, "--batch-size", 1)


def test_a_stop_in_a_folder_goes_on_without_loss_or_doubles(model: Path, notes: Path) -> None:
    names = [f"{number:02}.txt" for number in range(TEXTS)]
    assert predict(model, notes, "--out", "whole.jsonl").exit_code == 0
    assert [json.loads(line)["id"] for line in Path("whole.jsonl").read_text().splitlines()] == names
    bad = notes / "35.txt"
    bad.write_text("\n", encoding="utf-8")
    stopped = predict(model, notes, "--out", "out.jsonl")
    assert stopped.exit_code == 2
    assert f"{bad}: the file holds no text" in stopped.output
    assert not Path("out.jsonl").exists()
    assert json.loads(Path("out.jsonl.unfinished.json").read_text())["documents"] == 32
    bad.write_text("fever\nankle 35\n", encoding="utf-8")
    done = predict(model, notes, "--out", "out.jsonl", "--resume")
    assert done.exit_code == 0, done.output
    assert f"{TEXTS} documents\n" in done.stderr
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


def test_a_resumed_folder_with_another_first_file_is_refused(model: Path, notes: Path) -> None:
    (notes / "35.txt").write_text("\n", encoding="utf-8")
    predict(model, notes, "--out", "out.jsonl")
    (notes / "00.txt").rename(notes / "000.txt")
    refused = predict(model, notes, "--out", "out.jsonl", "--resume")
    assert "its first documents (32) are not those that were predicted" in refused.output


def test_column_flags_hold_for_every_file(model: Path, notes: Path) -> None:
    for name in ("one", "two"):
        Path(f"{name}.csv").write_text(f"note,visit\nfever,{name}\n", encoding="utf-8")
    done = predict(model, "one.csv", "two.csv", "--text_column", "note", "--id_column", "visit")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["one", "two"]


def test_a_file_that_is_read_is_not_written(model: Path, notes: Path) -> None:
    refused = predict(model, notes, "--out", notes / "07.txt")
    assert refused.exit_code == 2
    assert "07.txt: this is read, and would be replaced" in refused.output
    assert (notes / "07.txt").read_text(encoding="utf-8") == "fever\nankle 7\n"


def test_files_that_are_passed_over_are_named(model: Path, notes: Path) -> None:
    (notes / "07.txt").write_bytes(b"")
    (notes / "scan.pdf").write_bytes(b"%PDF")
    done = predict(model, notes, "--skip-bad")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == TEXTS - 1
    assert "bad lines that were passed over: 1 (notes/07.txt)\n" in done.stderr
    assert "files of the folders that are no .txt and were not read: 1\n" in done.stderr


def test_a_document_of_a_folder_is_explained_by_its_name(model: Path, notes: Path) -> None:
    done = run("explain", model, notes, "--document", "07.txt", "--json")
    assert done.exit_code == 0, done.output
    assert "more than one document" in run("explain", model, notes).output
    assert run("faithfulness", model, notes / "00.txt", notes / "01.txt").exit_code == 0
