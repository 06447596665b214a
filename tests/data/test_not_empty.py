"""A file that must hold a document."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.columns import DEFAULT
from plant_plugin.data.not_empty import not_empty
from plant_plugin.data.tables import Table
from plant_plugin.errors import DataError


def table(path: Path, content: str) -> Table:
    path.write_text(content)
    return Table(path, None, DEFAULT._replace(labels=None), skip_bad=True)


def test_all_documents_come(tmp_path: Path) -> None:
    assert [one.text for one in not_empty(table(tmp_path / "x.csv", "id,text\n1,a\n2,b\n"))] == ["a", "b"]


@pytest.mark.parametrize(("name", "content"), [("x.txt", ""), ("x.csv", "id,text\n"), ("x.jsonl", "")])
def test_without_one_it_says_where_and_how_to_mend_it(tmp_path: Path, name: str, content: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: the file holds no document\n  How to fix it: check that it was"):
        list(not_empty(table(tmp_path / name, content)))


def test_where_all_are_bad_the_first_one_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.jsonl, line 1"):
        list(not_empty(table(tmp_path / "x.jsonl", "{\n{\n")))
