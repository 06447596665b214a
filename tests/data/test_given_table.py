"""Tables in memory become files, and what one lacks is said by its name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from plant_plugin.data.given_table import file_of
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError


def test_a_table_becomes_a_file_with_the_same_documents(tmp_path: Path) -> None:
    table = pd.DataFrame({"labels": [["B", "A"], ["A"]], "text": ["fiebre alta", "tos"], "more": [1, 2]})
    split = read_any(Path(file_of(table, tmp_path / "train")))
    assert (split.texts, split.labels) == (["fiebre alta", "tos"], [["B", "A"], ["A"]])


def test_a_file_stays_where_it_is(tmp_path: Path) -> None:
    assert file_of("mine.csv", tmp_path / "train") == "mine.csv"
    assert file_of(Path("mine.csv"), tmp_path / "train") == "mine.csv"
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("column", ["text", "labels"])
@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_a_column_that_is_missing_is_named(column: str, kind: type, tmp_path: Path) -> None:
    table = kind({name: ["a", "b"] for name in ("text", "labels") if name != column})
    with pytest.raises(DataError, match=f"test: the table has no column {column}\n"):
        file_of(table, tmp_path / "test")
    assert not any(tmp_path.iterdir())
