from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.data.evidence import evidence_beside
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import Choices
from plant_plugin.prepare.marked.doccano import prepare_doccano
from plant_plugin.prepare.output import staged, write_provenance

TEXT = "Known asthma.\nNo fever."


def jsonl(path: Path, *rows: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_doccano_in_each_of_its_forms(tmp_path: Path) -> None:
    raw = jsonl(
        tmp_path / "all.jsonl",
        {"id": 1, "text": TEXT, "label": [[6, 12, "J45"], [6, 12, "J45"], [17, 22, "not there"]]},
        {"id": 2, "data": TEXT, "labels": [[6, 12, "J45"]]},
        {"id": 3, "text": TEXT, "entities": [{"id": 9, "label": "J45", "start_offset": 0, "end_offset": 12}],
         "relations": [], "cats": ["Z00"]},
        {"id": 4, "text": TEXT, "label": []},
        {"id": 5, "text": "no marks", "label": "R50"},
    )  # fmt: skip
    made = prepare_doccano(raw, tmp_path / "out")
    text = "Known asthma. No fever."
    assert (tmp_path / "out" / "train.txt").read_text() == (
        f"J45 not_there\t{text}\nJ45\t{text}\nJ45 Z00\t{text}\nR50\tno marks\n"
    )
    assert marked_words(tmp_path / "out" / "train.txt") == [
        {"J45": ["asthma"], "not_there": ["fever"]}, {"J45": ["asthma"]}, {"J45": ["Known asthma"]}, {},
    ]  # fmt: skip
    assert made["sets"][""] == {
        "train": 4, "documents_without_label_left_out": 1, "labels": 4, "labels_of_documents": 6,
        "labels_of_documents_with_evidence": 4, "spans": 4, "marks_in_several_parts": 0,
    }  # fmt: skip


def test_doccano_in_files_of_splits(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        jsonl(tmp_path / "raw" / f"{split}.jsonl", {"text": split, "label": ["A"]})
    done = CliRunner().invoke(
        plant, ["prepare", "doccano", "--raw", str(tmp_path / "raw"), "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "valid.txt").read_text() == "A\tdev\n"
    assert not evidence_beside(tmp_path / "out" / "train.txt").exists()


def test_one_file_in_a_folder_is_for_training_and_two_without_a_common_document_are_not(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw" / "admin.jsonl", {"text": "x", "label": ["A"]})
    assert prepare_doccano(tmp_path / "raw", tmp_path / "out")["sets"][""]["train"] == 1
    jsonl(tmp_path / "raw" / "other.jsonl", {"text": "y", "label": ["A"]})
    with pytest.raises(DataError, match="2 files of no split, and 2 of them have no document that another has too"):
        prepare_doccano(tmp_path / "raw", tmp_path / "out")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": TEXT, "label": [[6, 99, "J45"]]}, "a span is not inside the text of 23"),
        ({"text": TEXT, "label": [[13, 14, "J45"]]}, "the mark holds no word"),
        ({"text": TEXT, "label": [["J45", 6, 12]]}, r"a label that is not \[start, end, label\]"),
        ({"text": TEXT, "label": [7]}, r"a label that is not \[start, end, label\]"),
        ({"text": TEXT, "label": 7}, "labels that are no list"),
        ({"text": TEXT, "cats": {"A": 1.0, "B": 0.0}}, "labels that are no list"),
        ({"text": TEXT, "label": [[6, 12, " "]]}, "a label without a name"),
        ({"text": TEXT + "\ud83d", "label": ["A"]}, "half a character"),
        ({"label": [[6, 12, "J45"]]}, "no text"),
        ([TEXT], "no text"),
    ],
)
def test_mistakes_in_doccano(row: Any, message: str, tmp_path: Path) -> None:
    raw = jsonl(tmp_path / "x.jsonl", {"text": TEXT, "label": []}, row)
    with pytest.raises(DataError, match=rf"x\.jsonl, line 2: {message}") as caught:
        prepare_doccano(raw, tmp_path / "out")
    assert "asthma" not in str(caught.value).replace(str(tmp_path), "")


def test_broken_json(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('\n{"text": "secret')
    with pytest.raises(DataError, match=r"x\.jsonl, line 2: broken JSON") as caught:
        prepare_doccano(tmp_path / "x.jsonl", tmp_path / "out")
    assert "secret" not in str(caught.value)


def test_what_was_prepared_before_goes_unless_somebody_changed_it(tmp_path: Path) -> None:
    out, own = tmp_path / "out", tmp_path / "out" / "notes.md"
    for split in ("train", "valid", "test"):
        jsonl(tmp_path / "first" / f"{split}.jsonl", {"text": TEXT, "label": [[6, 12, "J45"]]})
    prepare_doccano(tmp_path / "first", out)
    own.write_text("mine")
    (out / "test.txt").write_text("J45\tchanged\n")
    prepare_doccano(jsonl(tmp_path / "second.jsonl", {"text": "No fever.", "label": ["R50"]}), out)
    assert sorted(path.name for path in out.iterdir()) == ["notes.md", "provenance.json", "test.txt", "train.txt"]


def test_a_pipe_is_no_file_that_can_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="no such file or folder"):
        prepare_doccano(tmp_path / "pipe", tmp_path / "out")


def test_what_is_read_is_not_taken_away(tmp_path: Path) -> None:
    jsonl(tmp_path / "all.jsonl", {"text": TEXT, "label": ["A"]})
    with staged(tmp_path) as stage:
        (stage / "all.jsonl").write_text((tmp_path / "all.jsonl").read_text())
        write_provenance(stage, {})
    prepare_doccano(tmp_path / "all.jsonl", tmp_path)
    assert (tmp_path / "all.jsonl").is_file()


def test_doccano_as_json(tmp_path: Path) -> None:
    rows = [{"text": TEXT, "label": [[6, 12, "J45"]]}, {"text": "No fever.", "label": ["R50"]}]
    for number, text in enumerate((json.dumps(rows), json.dumps(rows, indent=2), json.dumps(rows[0], indent=1))):
        raw = tmp_path / str(number) / "train.json"
        raw.parent.mkdir()
        raw.write_text(text)
        for path in (raw, raw.parent):
            assert prepare_doccano(path, tmp_path / "out")["sets"][""]["train"] == 2 - number // 2
            assert marked_words(tmp_path / "out" / "train.txt")[0] == {"J45": ["asthma"]}


def test_what_doccano_says_besides_is_counted_or_read(tmp_path: Path) -> None:
    by = [{"label": "J45", "start_offset": 6, "end_offset": 12, "user": user} for user in (1, 2)]
    row = {"text": TEXT, "annotations": [*by, {"label": "R50", "user": 2}], "relations": [{"from_id": 1, "to_id": 2}],
           "Comments": ["see plan", "x"], "spans": [{"start": 1}], "meta": {}, "id": 3}  # fmt: skip
    made = prepare_doccano(jsonl(tmp_path / "x.jsonl", row), tmp_path / "out", choices=Choices(annotators="majority"))
    assert (tmp_path / "out" / "train.txt").read_text().startswith("J45\t")
    assert made["counts"] == {
        "relations_not_read": 1, "comments_not_read": 2, "spans_not_read": 1, "documents_of_several_annotators": 1,
        "documents_whose_annotations_differ": 1, "labels_without_majority_left_out": 1,
    }  # fmt: skip


def test_what_is_bad_of_doccano_is_left_out(tmp_path: Path) -> None:
    raw = jsonl(tmp_path / "x.jsonl", {"text": 7}, {"text": TEXT, "label": [[6, 99, "A"], [6, 12, "J45"], 7]}, 7)
    with raw.open("a") as stream:
        stream.write('{"text": "cut off\n{"text": "No fever.", "label": ["R50"]}\n')
    made = prepare_doccano(raw, tmp_path / "out", choices=Choices(skip_bad=True))
    assert [line[:3] for line in (tmp_path / "out" / "train.txt").read_text().splitlines()] == ["J45", "R50"]
    assert made["counts"] == {"bad_documents_left_out": 3, "bad_marks_left_out": 2}


def test_what_comes_after_broken_json_is_not_left_out_in_silence(tmp_path: Path) -> None:
    raw = tmp_path / "x.json"
    raw.write_text('[{"text": "a", "label": ["A"]},\n{"text" "b"},\n{"text": "c", "label": ["C"]}]')
    with pytest.raises(
        DataError, match=r"x\.json, line 2: broken JSON, or a key twice, and all after it cannot be read"
    ):
        prepare_doccano(raw, tmp_path / "out", choices=Choices(skip_bad=True))


@pytest.mark.parametrize(
    ("annotators", "labels"),
    [("union", ["A", "B", "C"]), ("majority", ["A"]), ("ann", ["A", "B"]), ("bob", ["A"])],
)
@pytest.mark.parametrize("form", ["{}.jsonl", "{}/all.jsonl", "train/{}.jsonl", "{}/train.jsonl"])
def test_a_file_for_each_annotator(form: str, annotators: str, labels: list[str], tmp_path: Path) -> None:
    for name, given in {"ann": ["A", "B"], "bob": ["A"], "eve": ["A", "C"], "admin": []}.items():
        rows = [{"id": 1, "text": TEXT, "label": given}, {"id": 2, "text": "x", "label": given[:1]}]
        jsonl(tmp_path / "raw" / form.format(name), *rows)
        if "/" in form:
            test = "test/{}.jsonl" if form.startswith("train") else "{}/test.jsonl"
            jsonl(tmp_path / "raw" / test.format(name), {"id": 3, "text": "y", "label": given})
            if form.endswith("all.jsonl"):
                (tmp_path / "raw" / test.format(name)).unlink()
    done = CliRunner().invoke(plant, ["prepare", "doccano", "--raw", str(tmp_path / "raw"), "--out",
                                      str(tmp_path / "out"), "--annotators", annotators])  # fmt: skip
    assert done.exit_code == 0, done.output
    first, second = (tmp_path / "out" / "train.txt").read_text().splitlines()
    assert sorted(first.partition("\t")[0].split()) == labels
    assert second == "A\tx"
    said = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert any(line.startswith("annotators who marked nothing ") for line in said)
    assert any(line.startswith("documents of several annotators ") for line in said)
    assert "documents are annotated differently by several people" in done.stderr


@pytest.mark.parametrize("names", [("training_set", "test_set"), ("cooking.train", "all"), ("ann", "dev-2")])
def test_files_of_splits_are_no_annotators(names: tuple[str, str], tmp_path: Path) -> None:
    for name in names:
        jsonl(tmp_path / "raw" / f"{name}.jsonl", {"text": TEXT, "label": [name]})
    with pytest.raises(DataError, match=r"files \*\.jsonl: 2, none called train\.jsonl"):
        prepare_doccano(tmp_path / "raw", tmp_path / "out")
