"""Tables of Excel: the first sheet of an .xlsx file, by openpyxl, with cells as Excel shows them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.arrow_sizes import LARGEST, MOST_TIMES
from plant_plugin.data.file_kind import HEAD, encoding_of
from plant_plugin.errors import DataError, needs_extra

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

DECIMALS = re.compile(r"0\.(0+)")  # a format of numbers with so many places
AS_CSV = "save it as CSV UTF-8 (Excel: File, Save as)"
A_DATE = DataError("a date in the column of labels or ids, as Excel makes of codes (MAR1)", fix="format it as text")


def sheets_line(path: Path) -> str:
    """Say that only the first sheet is read; empty where there is one."""
    with _opened(path) as archive:
        number = sum(name.startswith("xl/worksheets/sheet") for name in archive.namelist())
    return f"{path}: the first of {number} sheets is read" if number > 1 else ""


def excel_rows(path: Path, dated: str) -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the number of each row of the first sheet that holds something, the header first, and its cells.

    Args:
        path: The file.
        dated: The column in which a date is a date: that of texts.

    Raises:
        DataError: It is no file of Excel, or unpacks to far more than it holds.
        MissingExtraError: openpyxl is not installed.
    """
    book, header = _book(path), list[str]()
    try:
        for number, cells in enumerate(book.worksheets[0].iter_rows(), 1):
            row = [_shown(cell.value, cell.number_format) for cell in cells]
            while len(row) > len(header) and row[-1] == "":
                row.pop()
            if not any(row):
                continue
            if not header:
                header = [str(name).strip() for name in row]
                yield number, header
            elif len(row) > len(header):
                what = f"columns: {len(row)}, and the header has {len(header)}"
                yield number, DataError(what, fix="give every column a name")
            else:
                row += [""] * (len(header) - len(row))
                dates = [name for name, cell in zip(header, row, strict=True) if cell is None and name != dated]
                yield number, A_DATE if dates else ["" if cell is None else cell for cell in row]
    finally:
        book.close()


def _opened(path: Path) -> zipfile.ZipFile:
    """Open the archive that such a file is; a ``DataError`` where it is none or unpacks to far more than it holds."""
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        with open(path, "rb") as stream:
            encoding_of(stream.read(HEAD), str(path))
        raise DataError("no file of Excel, though it is called so", where=str(path), fix=AS_CSV) from None
    for member in archive.infolist():
        if member.file_size > max(LARGEST, MOST_TIMES * member.compress_size):
            archive.close()
            what = f"a part of {member.compress_size:,} bytes that unpacks to {member.file_size / 2**30:.0f} GiB"
            raise DataError(what, where=str(path), fix="write the file again, with texts as they are")
    return archive


def _book(path: Path) -> Workbook:
    with needs_extra("prepare", "tables of Excel need openpyxl", where=str(path), otherwise=f"or {AS_CSV}"):
        import openpyxl
    _opened(path).close()
    try:
        return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (KeyError, ValueError, TypeError, AttributeError, SyntaxError, zipfile.BadZipFile):  # might show content
        raise DataError("the file of Excel cannot be read", where=str(path), fix=AS_CSV) from None


def _shown(value: object, form: str) -> str | None:
    """Return a cell as Excel shows it, a number with the places that its format has; None for a date."""
    if isinstance(value, date | datetime | time | timedelta):
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and (places := DECIMALS.fullmatch(form)):
        return f"{value:.{len(places[1])}f}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)
