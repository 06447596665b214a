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
from plant_plugin.prepare.marked.annotation_tools import prepare_doccano, prepare_labelstudio
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


def test_one_file_in_a_folder_is_for_training_and_two_are_not(tmp_path: Path) -> None:
    jsonl(tmp_path / "raw" / "admin.jsonl", {"text": "x", "label": ["A"]})
    assert prepare_doccano(tmp_path / "raw", tmp_path / "out")["sets"][""]["train"] == 1
    jsonl(tmp_path / "raw" / "other.jsonl", {"text": "x", "label": ["A"]})
    with pytest.raises(DataError, match=r"2 files \*\.jsonl, none called train\.jsonl"):
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


def span(start: Any, end: Any, text: str | None = None, control: str = "codes", **labels: object) -> dict[str, Any]:
    """A result of Label Studio."""
    value = {"start": start, "end": end, **labels} | ({} if text is None else {"text": text})
    return {"id": "x", "type": "labels", "from_name": control, "to_name": "text", "value": value}


def task(*results: object, text: object = TEXT, **more: object) -> dict[str, Any]:
    return {"id": 7, "data": {"text": text, "source": "x"}, "annotations": [{"result": list(results)}], **more}


def studio(folder: Path, *tasks: object, **options: Any) -> dict[str, Any]:
    (folder / "export.json").write_text(json.dumps(tasks), encoding="utf-8")
    return prepare_labelstudio(folder / "export.json", folder / "out", **options)


def test_label_studio(tmp_path: Path) -> None:
    whole = {"from_name": "whole", "value": {"choices": ["Z00"]}}
    tree = {"from_name": "tree", "value": {"taxonomy": [["R", "R50", "R50.9"], ["R", "R05"]]}}
    first = task(span(6, 12, "asthma", labels=["J45", "J45.9"]), whole, tree)
    # A choice of a span; the words without line break, as some versions write it, and with it as others do.
    second = task(span(6, 23, "asthma. No fever.", choices=["A"]), span(6, 23, "asthma.\\nNo fever.", labels=["B"]))
    made = studio(tmp_path, first, second, task())
    assert marked_words(tmp_path / "out" / "train.txt") == [
        {"J45": ["asthma"], "J45.9": ["asthma"]},
        {"A": ["asthma. No fever."], "B": ["asthma. No fever."]},
    ]
    labels = [line.split("\t")[0] for line in (tmp_path / "out" / "train.txt").read_text().splitlines()]
    assert labels == ["J45 J45.9 Z00 R50.9 R05", "A B"]
    assert made["sets"][""]["documents_without_label_left_out"] == 1


def test_label_studio_of_several_annotators(tmp_path: Path) -> None:
    one, two, three = ({"result": [span(6, 12, labels=[label])]} for label in ("A", "B", "C"))
    studio(
        tmp_path,
        task(annotations=[one, two, {**three, "was_cancelled": True}]),
        task(annotations=[one, {**two, "ground_truth": True}]),
    )
    assert marked_words(tmp_path / "out" / "train.txt") == [{"A": ["asthma"], "B": ["asthma"]}, {"B": ["asthma"]}]


def test_label_studio_counts_an_emoji_twice_in_older_versions(tmp_path: Path) -> None:
    text = "🙂🙂 asthma, fever"
    at_the_end = task(span(2, 8, " fever", labels=["C"]), text="🙂 fever")  # counted once it holds the word as well
    studio(
        tmp_path, task(span(5, 11, "asthma", labels=["A"]), span(11, 16, "fever", labels=["B"]), text=text), at_the_end
    )
    assert marked_words(tmp_path / "out" / "train.txt") == [{"A": ["asthma"], "B": ["fever"]}, {"C": [" fever"]}]


def test_label_studio_of_one_control(tmp_path: Path) -> None:
    results = span(6, 12, labels=["J45"]), span(6, 12, control="kind", labels=["Disease"])
    made = studio(tmp_path, task(*results), controls=("codes",))
    assert made["counts"] == {"results_of_other_controls": 1}
    assert marked_words(tmp_path / "out" / "train.txt") == [{"J45": ["asthma"]}]


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (task(span(0, 6, "asthma", labels=["A"])), "the marked text is not what stands there"),
        (task(span(6, 99, labels=["A"])), "a span is not inside the text of 23"),
        (task(span("/p[1]/text()[1]", 12, labels=["A"])), "a span whose places are no numbers of characters"),
        (task(span(0, True, labels=["A"])), "a span whose places are no numbers of characters"),
        (task(span(0, None, labels=["A"])), "a span whose places are no numbers of characters"),
        (task(text=None), "data has no text called text"),
        ({"id": 1, "text": TEXT, "label": []}, "no annotations"),
    ],
)
def test_mistakes_in_label_studio(last: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"export\.json, task 2: {message}") as caught:
        studio(tmp_path, task(span(6, 12, labels=["A"])), last)
    assert "asthma" not in str(caught.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("last", [task(annotations=[7]), task() | {"data": TEXT}, task(7), task({"value": [1]})])
def test_other_shapes_are_no_tasks(last: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"export\.json, task 1: not a task with data and annotations"):
        studio(tmp_path, last)


def test_results_without_labels_are_passed_over(tmp_path: Path) -> None:
    comment = {"from_name": "comment", "value": {"start": 6, "end": 12, "text": ["see plan"]}}
    tree, choice = {"value": {"taxonomy": [[]]}}, {"value": {"choices": "Z00"}}
    studio(tmp_path, task(span(6, 12, labels=["A"]), comment, tree, choice))
    assert (tmp_path / "out" / "train.txt").read_text().startswith("A Z00\t")
    with pytest.raises(DataError, match="a label that is no text"):
        studio(tmp_path, task(span(6, 12, labels=[3])))


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


def test_not_a_list_of_tasks(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"text": 1}')
    with pytest.raises(DataError, match="not a list of tasks"):
        prepare_labelstudio(tmp_path / "x.json", tmp_path / "out")


def test_the_command(tmp_path: Path) -> None:
    row = task(span(6, 12, labels=["J45"]), span(6, 12, control="kind", labels=["Disease"]))
    row["data"] = {"note": TEXT}
    (tmp_path / "x.json").write_text(json.dumps([row]))
    arguments = ["prepare", "labelstudio", "--raw", str(tmp_path / "x.json"), "--out", str(tmp_path / "out")]
    wrong = CliRunner().invoke(plant, arguments)
    assert "name the text with --text_key" in wrong.output
    done = CliRunner().invoke(plant, [*arguments, "--text_key", "note", "--control", "codes"])
    assert done.exit_code == 0, done.output
    assert "results of other controls" in done.output
    assert marked_words(tmp_path / "out" / "train.txt") == [{"J45": ["asthma"]}]
