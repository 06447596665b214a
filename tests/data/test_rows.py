from __future__ import annotations

import pytest

from plant_plugin.data.columns import Columns
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.rows import NOT_TEXT, NOT_UTF8, Document, checked, document_of, separated
from plant_plugin.errors import DataError


def test_a_row_becomes_a_document() -> None:
    row = document_of({"text": "cough", "labels": ["R05", "old  age", ""], "id": 7}, Columns())
    assert isinstance(row, Document)
    assert (row.text, row.labels, row.name) == ("cough", ["R05", "old_age"], "7")
    row = document_of({"text": "cough", "labels": "R05;I10"}, Columns())
    assert isinstance(row, Document)
    assert separated(row, LabelColumn(";")) == row
    assert row.labels == ["R05", "I10"]


@pytest.mark.parametrize("cells", [{"text": None, "labels": "a"}, {"text": "x", "labels": 3.5}, {"labels": "a"}])
def test_what_is_no_document_is_said_without_its_content(cells: dict[str, object]) -> None:
    assert isinstance(document_of(cells, Columns()), DataError)


def test_characters_that_are_no_text() -> None:
    assert checked(Document("a\0")) is NOT_TEXT
    assert checked(Document("a", cell="\udce4")) is NOT_UTF8
    assert isinstance(separated(Document("a", cell="[1"), LabelColumn("[]")), DataError)
