from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin.data.json_shapes import deeper_documents, named_table
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError

A_DOCUMENT = {"text": "zorblatt at rest", "labels": ["I10"]}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"text": ["zorblatt"], "labels": [["I10"]]}, "columns"),
        ({"text": {"0": "zorblatt"}, "labels": {"0": "I10"}}, "columns"),
        ({"columns": ["text"], "index": [0], "data": [["zorblatt"]]}, "split"),
        ({"data": [A_DOCUMENT], "version": 1}, "list of documents"),
        ({"d1": A_DOCUMENT, "d2": A_DOCUMENT}, "under each key"),
    ],
)
def test_documents_that_lie_deeper_are_named_with_the_way_to_them(
    value: dict[str, object], what: str, tmp_path: Path
) -> None:
    for indent in (None, 2):
        (tmp_path / "t.json").write_text(json.dumps(value, indent=indent))
        with pytest.raises(DataError, match=rf"t\.json, line 1: .*{what}") as error:
            read_any(tmp_path / "t.json")
        assert "zorblatt" not in str(error.value)


def test_documents_and_what_is_nothing_of_ours() -> None:
    for value in (A_DOCUMENT, {**A_DOCUMENT, "text": []}, {}, {"a": 1}, [A_DOCUMENT], None, 7):
        assert deeper_documents(value, "text") is None


@pytest.mark.parametrize(
    ("first", "what"),
    [
        ('{"a": 1}', "JSON lines"),
        ("{", "JSON"),
        ("[", "JSON"),
        ('[{"text": "x"},', "JSON"),
        ("text,labels", "CSV"),
        ('"Note Text";"ICD-10 codes"', "CSV"),
        ("id|text|labels", "CSV"),
    ],
)
def test_tables_under_a_name_of_text_are_named(first: str, what: str) -> None:
    assert what in str(named_table(first))


@pytest.mark.parametrize(
    "first", ["[Admission] a note", "{sic} pain", "pain, fever, cough", "text, and more", "I10\ttext", ""]
)
def test_texts_are_texts(first: str) -> None:
    assert named_table(first) is None
