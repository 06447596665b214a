"""``plant predict``, in each form of its output."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.data.tables import Document
from plant_plugin.model.prediction_files import written

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
    assert "3 documents, one a line (--input text takes the whole file as one)\n" in outcome.stderr
    assert "\n1 document has no word that the model knows" in outcome.stderr


def test_no_cell_of_csv_is_a_formula(trained: Path, tmp_path: Path) -> None:
    names = tmp_path / "names.tsv"
    names.write_text("L3\t=HYPERLINK(1)\n")
    row = json.dumps({"id": "@SUM(A1)", "text": "sign3x"})
    shown = {}
    for flags in ((), ("--raw-csv",)):
        options = ("--output", "csv", "--top", "1", "--names", str(names), "--input", "jsonl", *flags)
        outcome = predict(trained, *options, given=row)
        assert outcome.exit_code == 0, outcome.output
        [shown[flags]] = csv.DictReader(io.StringIO(outcome.stdout))
    assert (shown[()]["id"], shown[()]["label"], shown[()]["name"]) == ("'@SUM(A1)", "L3", "'=HYPERLINK(1)")
    assert (shown["--raw-csv",]["id"], shown["--raw-csv",]["name"]) == ("@SUM(A1)", "=HYPERLINK(1)")


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


@pytest.mark.parametrize("output", ["jsonl", "csv", "scores", "fhir"])
def test_a_stopped_prediction_goes_on(
    trained: Path, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    texts = [str(task / "test.txt"), "--output", output, "--batch-size", "1", "--system", "urn:codes"]
    flags = texts if output == "fhir" else texts[:-2]
    whole, out = predict(trained, *flags), tmp_path / "out"
    calls = iter([False, False, True])

    def stopped(*arguments: object, **options: object) -> object:
        if next(calls, False):
            raise KeyboardInterrupt
        return written(*arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("plant_plugin.model.prediction_files.written", stopped)
        assert predict(trained, *flags, "--out", str(out)).exit_code == 130
    assert 0 < (tmp_path / "out.unfinished").stat().st_size < len(whole.stdout.encode())
    other = predict(trained, *flags, "--out", str(out), "--resume", "--top", "1")
    assert "another model or other flags" in other.output
    outcome = predict(trained, *flags, "--out", str(out), "--resume")
    assert (outcome.exit_code, outcome.stdout) == (0, ""), outcome.output
    resumed, once = (re.sub(r"urn:uuid:[0-9a-f-]+", "", text) for text in (out.read_text("utf-8"), whole.stdout))
    assert resumed == once
    assert outcome.stderr.splitlines()[-1] == whole.stderr.splitlines()[-1]


def test_only_a_plain_file_is_gone_on_with(trained: Path) -> None:
    outcome = predict(trained, "--resume", given=NOTES)
    assert (outcome.exit_code, "--resume: only a plain file" in outcome.output) == (2, True)


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
    assert "bad lines that were passed over: 1 (2)\n" in outcome.stderr


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


DOCUMENTS = [Document("filler1 sign3x", id="a"), Document("", id="b")]


@pytest.mark.parametrize("output", ["jsonl", "scores", "csv", "fhir"])
def test_every_form_holds_the_predicted_labels_and_counts_empty_documents(predictor: Predictor, output: str) -> None:
    text, counts = written(
        predictor, DOCUMENTS, output=output, system="http://example.org/labels", threshold=None, top=1
    )
    lines = text.splitlines()
    assert len(lines) == 2
    assert "L3" in lines[0]
    assert counts == {"documents": 2, "empty": 1, "cut": 0}
    if output in ("jsonl", "fhir"):
        assert all(isinstance(json.loads(line), dict) for line in lines)


def test_hints_are_written_where_they_are_asked_for(coded: Path, wrong_side: str) -> None:
    plain, asked = (
        predict(coded, "--top", "3", given=wrong_side),
        predict(coded, "--top", "3", "--rules", given=wrong_side),
    )
    assert asked.exit_code == 0, asked.output
    [without], [row] = ([json.loads(line) for line in outcome.stdout.splitlines()] for outcome in (plain, asked))
    hints = {label["label"]: label.pop("hints", []) for label in row["labels"]}
    assert row == without
    assert [hint["rule"] for hint in hints["S72.001A"]] == ["laterality"]
    [hint] = hints["S72.001A"]
    assert wrong_side[hint["start"] : hint["end"]] == "left"
    assert [(hint["rule"], hint["codes"]) for hint in hints["E10.9"]] == [("excludes1", ["E11.9"])]


def test_hints_have_a_column_in_csv(coded: Path, wrong_side: str) -> None:
    outcome = predict(coded, "--output", "csv", "--top", "3", "--rules", given=f"{wrong_side}\n\n")
    rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
    hint_of = {row["label"]: row["hints"] for row in rows if row["id"] == "1"}
    assert hint_of["E10.9"].startswith("not beside E11.9, unless the two are unrelated: Excludes1 of E1")
    nothing = predict(coded, "--output", "csv", "--threshold", "0.999999999", "--rules", given="filler1")
    assert [row["hints"] for row in csv.DictReader(io.StringIO(nothing.stdout))] == [""]


def test_hints_need_codes_and_a_place(trained: Path) -> None:
    outcome = predict(trained, "--rules", given=NOTES)
    assert (outcome.exit_code, "--rules: rules are known for codes of ICD-10-CM" in outcome.output) == (2, True)
    outcome = predict(trained, "--rules", "--output", "scores", given=NOTES)
    assert (outcome.exit_code, "--rules: scores have no place for hints" in outcome.output) == (2, True)
