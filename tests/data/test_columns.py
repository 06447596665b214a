from __future__ import annotations

import pytest

from plant_plugin.data.columns import Columns
from plant_plugin.errors import DataError


def test_a_column_that_is_missing_or_there_twice() -> None:
    Columns("note", None).check(["note", "id"], "t.csv")
    Columns("note", None).check(["note", "None", "None"], "t.csv")  # nobody named these
    with pytest.raises(DataError, match=r"there is no column 'text'[\s\S]*did you mean"):
        Columns().check(["txt", "labels"], "t.csv")
    with pytest.raises(DataError, match="several columns are called 'text'"):
        Columns().check(["text", "text", "labels"], "t.csv")


def test_columns_that_are_there_are_said_and_how_to_name_one() -> None:
    with pytest.raises(DataError) as error:
        Columns().check(["record", "subjects", "abstract"], "books.csv")
    assert error.value.fix == "--text_column names it; one of subjects, abstract"


def test_a_header_that_is_a_document_is_not_shown() -> None:
    with pytest.raises(DataError) as error:
        Columns().check(["no fever at all", "I10"], "t.csv")
    assert "fever" not in str(error.value)
