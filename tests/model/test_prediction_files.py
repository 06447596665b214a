"""``plant predict``."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant

NOTES = "filler1 sign3x\nsign5x sign5x\n\n"


def predict(model: Path, *arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(plant, ["predict", str(model), "--device", "cpu", *arguments], input=given)


def test_json_lines_from_standard_input(trained: Path) -> None:
    outcome = predict(trained, "--top", "1", given=NOTES)
    assert outcome.exit_code == 0, outcome.output
    rows = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [row["id"] for row in rows] == ["1", "2", "3"]
    assert [row["labels"][0]["label"] for row in rows[:2]] == ["L3", "L5"]
    assert 0.5 < rows[0]["labels"][0]["probability"] < 1
    assert [row["tokens"] for row in rows] == [2, 2, 0]
    assert "3 documents\n1 hold nothing" in outcome.stderr


def test_csv_with_names(trained: Path, tmp_path: Path) -> None:
    names, out = tmp_path / "names.tsv", tmp_path / "out.csv"
    names.write_text("L3\tthe, third\n")
    outcome = predict(
        trained, "--output", "csv", "--threshold", "0.5", "--names", str(names), "--out", str(out), given=NOTES
    )
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout == ""
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert rows[0] | {"probability": ""} == {
        "id": "1", "rank": "1", "label": "L3", "probability": "", "name": "the, third"
    }  # fmt: skip
    assert {row["id"] for row in rows} == {"1", "2", "3"}
    nothing = [row for row in rows if row["id"] == "3"]
    assert nothing[0]["rank"] in "01"


def test_scores_are_those_of_the_run(trained: Path, task: Path) -> None:
    outcome = predict(trained, str(task / "test.txt"), "--output", "scores", "--top", "3", "--batch-size", "7")
    assert outcome.stdout == (task / "predictions.txt").read_text()


def test_bad_lines_are_counted(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "sign1x", "id": "a"}\nbroken\n{"text": "sign2x", "id": "c"}\n')
    stopped = predict(trained, str(path))
    assert stopped.exit_code == 2
    assert "line 2: no JSON" in stopped.output
    outcome = predict(trained, str(path), "--skip-bad")
    assert outcome.exit_code == 0
    assert [json.loads(line)["id"] for line in outcome.stdout.splitlines()] == ["a", "c"]
    assert "1 bad lines were passed over: 2\n" in outcome.stderr


def test_a_failed_run_leaves_no_file(trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert predict(trained, "--input", "jsonl", "--out", str(out), given='{"text": "a"}\nbroken\n').exit_code == 2
    assert not out.exists()


@pytest.mark.parametrize("arguments", [("predict", "--out"), ("explain", "--html")])
def test_what_is_read_is_not_written_over(trained: Path, tmp_path: Path, arguments: tuple[str, str]) -> None:
    notes, link = tmp_path / "notes.txt", tmp_path / "link.txt"
    notes.write_text("sign3x")
    link.symlink_to(notes)
    command, flag = arguments
    for out in (notes, link):
        outcome = CliRunner().invoke(plant, [command, str(trained), str(notes), flag, str(out), "--device", "cpu"])
        assert outcome.exit_code == 2
        assert "notes.txt: this is read, and would be replaced" in outcome.output
    assert notes.read_text() == "sign3x"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "best"], "no threshold 'best'"),
        (["--threshold", "2"], "not between 0 and 1"),
        (["--device", "nothing"], "cannot be used here"),
        (["--names", "nothing.tsv"], "nothing.tsv: no such file"),
    ],
)
def test_what_cannot_be_asked(trained: Path, arguments: list[str], message: str) -> None:
    outcome = predict(trained, *arguments, given=NOTES)
    assert outcome.exit_code == 2
    assert message in outcome.output
    assert "Traceback" not in outcome.output


def test_a_folder_that_is_no_model(tmp_path: Path) -> None:
    outcome = predict(tmp_path, given=NOTES)
    assert outcome.exit_code == 2
    assert "no complete PLANT model" in outcome.output
