"""Which column is missing is told, and which there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.columns import Columns
from plant_plugin.data.missing_columns import KEYS, check_there
from plant_plugin.data.tables import read_columns
from plant_plugin.errors import DataError

NAMES = ["record", "text", "labels"]


@pytest.mark.parametrize("place", range(3))
def test_each_column_that_was_named_has_to_be_there(place: int) -> None:
    check_there(NAMES, "text", "labels", "record", "t.csv")
    named = ["text", "labels", "record"]
    named[place] = "nowhere"
    with pytest.raises(DataError) as error:
        check_there(NAMES, *named, "t.csv")
    assert (error.value.what, error.value.where) == ("there is no column 'nowhere'", "t.csv")
    assert error.value.fix == f"--{KEYS[place]} names it; one of text, labels"


def test_ids_that_nobody_named_may_be_missing() -> None:
    check_there(NAMES, "text", None, "id", "t.csv")


def test_a_table_without_the_column_of_ids_is_refused_and_an_object_has_a_gap(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,labels\na,L1\n")
    assert read_columns(tmp_path / "t.csv", Columns()).texts == ["a"]
    with pytest.raises(DataError, match="there is no column 'ward'"):
        read_columns(tmp_path / "t.csv", Columns(id="ward"))
    (tmp_path / "t.jsonl").write_text('{"text": "a", "labels": ["L1"]}\n')
    assert read_columns(tmp_path / "t.jsonl", Columns(id="ward")).ids is None
