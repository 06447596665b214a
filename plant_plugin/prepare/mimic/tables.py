"""Tables as MIMIC is handed out: CSV, plain or gzipped, with line breaks and quotes inside notes.

Python's own reader is the engine: it reads quoted line breaks, either line end and rows of any length with the memory
of one row, knows the line it is at, and never puts a row's content into an error. It reads about 100 MB a second; the
tables take minutes either way, for the cleaning of the text.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError

MAX_FIELD = 1 << 24  # characters; far above any note, so that a quote that never closes is noticed
ENDINGS = (".csv", ".csv.gz")

Row = tuple[int, list[str]]


def find_table(folder: Path, name: str) -> Path:
    """The file of a table, e.g. ``NOTEEVENTS.csv.gz``, in either case of letters.

    Raises:
        DataError: The folder or the table is missing.
    """
    if not folder.is_dir():
        raise DataError("no such folder", where=str(folder), fix="give the folder that holds the tables")
    present = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    for ending in ENDINGS:
        if (path := present.get(name.lower() + ending)) is not None:
            return path
    raise DataError(
        f"the table {name} is missing", where=str(folder), fix=f"put {name}.csv or {name}.csv.gz into this folder"
    )


def read_table(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Rows of a table, one at a time.

    Args:
        path: The file.
        columns: Names of the wanted columns; the header may write them in either case.

    Yields:
        The line that the row starts in, and the wanted values in the asked for order, as they stand in the file.

    Raises:
        DataError: The file cannot be read, is cut off, lacks a column, or has a row of another width. Messages hold
            the line, never a value.
    """
    csv.field_size_limit(MAX_FIELD)
    start = 1
    try:
        with text_lines(path, newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = next(reader, None)
            if header is None:
                raise DataError("the file is empty", where=str(path), fix="download it again")
            places = _places(header, columns, path)
            for row in reader:
                line, start = start + 1, reader.line_num
                if len(row) != len(header):
                    if not row:
                        continue
                    raise DataError(
                        f"{len(row)} values where the header has {len(header)}",
                        where=f"{path}, line {line}",
                        fix="the file is cut off here or a quote is missing: download it again",
                    )
                yield line, [row[place] for place in places]
    except csv.Error as error:
        what = "a quote opens here that never closes" if "end of data" in str(error) else "not well-formed CSV"
        fix = "the file is cut off or was changed: download it again"
        raise DataError(what, where=f"{path}, line {start + 1}", fix=fix) from None


def _places(header: list[str], columns: Sequence[str], path: Path) -> list[int]:
    found = [name.strip().lower() for name in header]
    missing = [name for name in columns if name.lower() not in found]
    if missing:
        raise DataError(
            f"no column {', '.join(missing)}; the header has {', '.join(name.strip() for name in header)}"
            if len(header) <= 30
            else f"no column {', '.join(missing)}",
            where=f"{path}, line 1",
            fix="use the table as it was downloaded, with its header line",
        )
    return [found.index(name.lower()) for name in columns]


def read_id(value: str, column: str, path: Path, line: int, counts: Counter[str]) -> int | None:
    """A patient's or admission's number; None for an empty one.

    A number that was saved as a fraction (``123456.0``) is read as what it was and counted in ``ids_saved_as_floats``.

    Raises:
        DataError: Anything else than a whole number.
    """
    text = value.strip()
    if not text:
        return None
    whole, dot, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdigit()) or fraction.strip("0"):
        fix = "use the table as it was downloaded; a spreadsheet may have changed its numbers"
        raise DataError(f"{column} is not a whole number", where=f"{path}, line {line}", fix=fix)
    if dot:
        counts["ids_saved_as_floats"] += 1
    return int(whole)
