from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from marked_words import marked_words

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import Choices
from plant_plugin.prepare.marked.label_studio import prepare_labelstudio

TEXT = "Known asthma.\nNo fever."


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


def labels(folder: Path) -> list[str]:
    return [line.split("\t")[0] for line in (folder / "out" / "train.txt").read_text().splitlines()]


def test_hypertext_and_paragraphs(tmp_path: Path) -> None:
    paths = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 0, "endOffset": 5}
    lost = {"type": "hypertextlabels", "value": {**paths, "text": "fever", "hypertextlabels": ["R50"]}}
    places = {"start": 6, "end": 11}
    html = {"type": "hypertextlabels", "value": {**paths, "globalOffsets": places, "text": "cough", "labels": ["R05"]}}
    dialogue = [{"author": "a", "text": "No fever."}, {"author": "b", "text": "A cough\nonly."}]
    spoken = {"start": "1", "end": "1", "startOffset": 2, "endOffset": 7, "text": "cough", "paragraphlabels": ["R05"]}
    over = {"start": "0", "end": "1", "startOffset": 3, "endOffset": 7, "paragraphlabels": ["X"]}
    plain = {"start": 6, "end": 12, "text": "asthma", "paragraphlabels": ["J45"]}
    done = studio(
        tmp_path,
        task(lost, html, text="<p>fever</p> <p>cough</p>"),
        task({"value": spoken}, {"value": over}, text=dialogue),
        task({"value": plain}, span(17, 22, "fever", hypertextlabels=["R50"])),
    )
    assert marked_words(tmp_path / "out" / "train.txt") == [
        {"R05": ["cough"]}, {"R05": ["cough"], "X": ["fever. A cough"]}, {"J45": ["asthma"], "R50": ["fever"]},
    ]  # fmt: skip
    assert done["counts"] == {"hypertextlabels_not_read": 1, "marks_counted_in_other_characters_repaired": 1}


def test_what_is_not_read_is_counted_by_kind(tmp_path: Path) -> None:
    results = [
        {"type": "relation", "from_id": "a", "to_id": "b", "labels": ["causes"]},
        {"type": "textarea", "value": {"text": ["see plan"]}},
        {"value": {"start": 0, "end": 5, "text": ["see plan"]}},
        {"type": "number", "value": {"number": 3}},
        {"value": {"rating": 3}},
        {"type": "rectanglelabels", "value": {"x": 1, "y": 2, "rectanglelabels": ["J45"]}},
        {"type": "a kind of a note", "value": {}},
        {**span(6, 12, "asthma", labels=["J45"]), "meta": {"text": ["sure"]}},
        span(6, 12, "asthma", labels=[]),
    ]
    cancelled = {"result": [], "was_cancelled": True}
    row = task(annotations=[{"result": results}, cancelled], predictions=[{"result": results}])
    assert studio(tmp_path, row)["counts"] == {
        "predictions_not_read": 1, "annotations_skipped_by_their_annotator": 1, "relation_not_read": 1,
        "textarea_not_read": 2, "number_not_read": 1, "rating_not_read": 1, "rectanglelabels_not_read": 1,
        "results_of_other_kinds_not_read": 1, "notes_on_results_not_read": 1, "marks_without_code": 1,
    }  # fmt: skip
    assert labels(tmp_path) == ["J45"]


def test_choices_of_a_span_can_leave_it_out(tmp_path: Path) -> None:
    negated = span(17, 22, "fever", control="negation", choices=["Negated"]) | {"id": "f"}
    fever, asthma = (
        span(17, 22, "fever", labels=["R50"]) | {"id": "f"},
        span(6, 12, "asthma", labels=["J45"]) | {"id": "a"},
    )
    for name in ("Negated", "negation", "negation=Negated"):
        done = studio(tmp_path, task(negated, fever, asthma), choices=Choices(without=(name,)))
        assert labels(tmp_path) == ["J45"]
        assert done["counts"] == {f"marks_left_out_with_{name}": 1}
    placeless = {"id": "f", "from_name": "negation", "value": {"choices": ["Negated"]}}
    studio(tmp_path, task(placeless, fever, asthma), choices=Choices(without=("Negated",)))
    assert labels(tmp_path) == ["J45"]


def test_taxonomies_of_two_terminologies(tmp_path: Path) -> None:
    tree = {"value": {"taxonomy": [["ICD9", "401"], ["ICD10", "401"], ["ICD10", "I", "I10"]]}}
    assert studio(tmp_path, task(tree))["counts"] == {"codes_spelled_alike_in_several_terminologies": 1}
    assert labels(tmp_path) == ["ICD9:401 ICD10:401 I10"]
    studio(tmp_path, task(tree), choices=Choices(terminologies=("ICD-10",)))
    assert labels(tmp_path) == ["401 I10"]
    studio(tmp_path, task({"value": {"choices": [["ICD10", "I10"], "R05"]}}))
    assert labels(tmp_path) == ["R05 I10"]


@pytest.mark.parametrize("name", ["2", "b@example.org", "Bea Best", "Best"])
def test_an_annotator_by_number_or_name(name: str, tmp_path: Path) -> None:
    person = {"id": 2, "email": "b@example.org", "first_name": "Bea", "last_name": "Best"}
    by = [{"result": [span(6, 12, labels=["A"])], "completed_by": 1}]
    by.append({"result": [span(6, 12, labels=["B"])], "completed_by": person})
    done = studio(tmp_path, task(annotations=by), task(annotations=by[:1]), choices=Choices(annotators=name))
    assert labels(tmp_path) == ["B"]
    assert done["counts"] == {
        "documents_of_several_annotators": 1, "documents_whose_annotations_differ": 1,
        "annotations_beside_those_that_count_left_out": 2, "documents_without_this_annotator": 1,
        "texts_that_occur_again": 1,
    }  # fmt: skip


def test_bad_tasks_and_marks_are_left_out(tmp_path: Path) -> None:
    bad = [7, {"id": 1, "text": TEXT}, task(text=None), task(text="/data/1.txt"), task(annotations=[7])]
    mixed = task(span(0, 6, "asthma", labels=["A"]), span(0, None, labels=["B"]), 7, span(6, 12, labels=["C"]))
    done = studio(tmp_path, *bad, mixed, choices=Choices(skip_bad=True))
    assert labels(tmp_path) == ["C"]
    assert done["counts"] == {"bad_documents_left_out": 5, "bad_marks_left_out": 3}
    done = studio(tmp_path, *bad, mixed, choices=Choices(skip_bad=True, repair=True))
    assert marked_words(tmp_path / "out" / "train.txt") == [{"A": ["asthma"], "C": ["asthma"]}]
    assert done["counts"] == {"bad_documents_left_out": 5, "bad_marks_left_out": 2, "marks_found_again_nearby": 1}
