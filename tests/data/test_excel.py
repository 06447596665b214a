from __future__ import annotations

import datetime
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.data import excel
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError, MissingExtraError


def book(path: Path, *rows: list[object], formats: dict[str, str] | None = None, sheets: int = 1) -> Path:
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra: pip install 'plant-plugin[prepare]'")
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    for cell, form in (formats or {}).items():
        made.active[cell].number_format = form
    for number in range(1, sheets):
        made.create_sheet(f"more {number}")
    made.save(path)
    return path


def test_cells_are_read_as_excel_shows_them(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["id", "labels", "text", None], [1.0, 250, "sugar", None], [2, 401.9, 7, None], [None] * 4, [3, "a b;c", None]
    ]  # fmt: skip
    path = book(tmp_path / "t.xlsx", *rows, formats={"B2": "0.00"})
    found = read_any(path)
    assert found.labels == [["250.00"], ["401.9"], ["a_b", "c"]]
    assert found.texts == ["sugar", "7", ""]
    assert found.ids == ["1", "2", "3"]


def test_of_several_sheets_the_first_is_read_and_that_is_said(tmp_path: Path) -> None:
    path = book(tmp_path / "t.xlsx", ["text", "labels"], ["cough", "R05"], sheets=3)
    assert read_any(path).note.endswith("the first of 3 sheets is read")
    assert "the first of 3 sheets is read" in CliRunner().invoke(plant, ["stats", str(path)]).output


def test_a_date_in_the_place_of_a_code_is_refused(tmp_path: Path) -> None:
    day = datetime.datetime(2026, 3, 1)
    path = book(tmp_path / "t.xlsx", ["text", "labels"], ["cough", "R05"], ["gene", day])
    with pytest.raises(DataError, match=r"t\.xlsx, row 3: a date in the column of labels"):
        read_any(path)


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = book(tmp_path / "w.xlsx", ["text", "labels"], ["cough", "R05", "more"])
    with pytest.raises(DataError, match="row 2: columns: 3, and the header has 2"):
        read_any(wide)
    with pytest.raises(DataError, match="there is no column 'text'"):
        read_any(book(tmp_path / "h.xlsx", ["note", "labels"], ["cough", "R05"]))
    (tmp_path / "csv.xlsx").write_text("text,labels\n")
    with pytest.raises(DataError, match="no file of Excel"):
        read_any(tmp_path / "csv.xlsx")
    with zipfile.ZipFile(tmp_path / "zip.xlsx", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(DataError, match="cannot be read"):
        read_any(tmp_path / "zip.xlsx")
    monkeypatch.setattr(excel, "LARGEST", 10)
    monkeypatch.setattr(excel, "MOST_TIMES", 1)
    with pytest.raises(DataError, match="unpacks to"):
        read_any(wide)


def test_without_openpyxl_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        archive.writestr("a.txt", "a")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[prepare\][\s\S]*CSV"):
        read_any(tmp_path / "t.xlsx")
