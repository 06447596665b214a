"""Rows of CSV, and values of JSON, as spreadsheets and programs write them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import chain

from plant_plugin.data.json_text import DECODER
from plant_plugin.errors import DataError
from plant_plugin.files import LONGEST_LINE, limit

DELIMITERS = (",", ";", "\t", "|")  # of columns
EXCEL = re.compile(r"\s*sep=(.)\s*", re.IGNORECASE)  # its first line, where it says what separates columns
BETWEEN = re.compile(r"[\s,\[\]]*")  # JSON values of a list


def json_values(numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[int, object]]:
    """Yield each value with the line that it begins in; None for what is none, or has a key twice."""
    for number, line in numbered:
        start = line.strip()
        if start.startswith("[") or start == "{" or (start.startswith("{") and start.endswith(",")):
            yield from values_in("".join([line, *(rest for _, rest in numbered)]), number)
        elif start:
            try:
                yield number, DECODER.decode(line)
            except (ValueError, RecursionError):
                yield number, None


def values_in(text: str, line: int = 1) -> Iterator[tuple[int, object]]:
    """Yield each JSON value of a list, or of a row of them, with its line; None for what is none, and then the end."""
    end = 0
    while (start := BETWEEN.match(text, end).end()) < len(text):  # type: ignore[union-attr]  # it may be empty
        line += text.count("\n", end, start)
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):  # its message would hold the content
            yield line, None
            return
        yield line, value
        line += text.count("\n", start, end)
    if text.lstrip().startswith("[") and not text.rstrip().endswith("]"):  # cut off
        yield line, None


def csv_rows(lines: Iterator[str], name: str = "") -> Iterator[tuple[int, list[str] | DataError]]:
    """Yield the line that each row of a table begins in, the header first, and its fields, or what is wrong with it.

    A row has to be as wide as the header; empty ones are passed over. Fields are separated by commas, unless a first
    line as Excel writes it (``sep=;``) says otherwise, or the header has the column ``name`` by another separator.
    """
    csv.field_size_limit(limit(LONGEST_LINE))
    first, before = next(lines, ""), 0
    if said := EXCEL.fullmatch(first):
        delimiter, before, first = said[1], 1, next(lines, "")
    else:
        fitting = (sign for sign in DELIMITERS if sign in first and name in _names(first, sign))
        delimiter = next(fitting, ",")
    # Strict: else a quote that nothing ends takes all after it for one text.
    reader, width = csv.reader(chain([first], lines), strict=True, delimiter=delimiter), 0
    while True:
        line = before + reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:  # its message may hold the row's content
            yield line, DataError("no row of a table", fix="quote fields that hold commas, quotes or line ends")
            continue
        if not row:
            continue
        width = width or len(row)
        if len(row) == width:
            yield line, row
        else:
            yield line, DataError(f"columns: {len(row)}, and the header has {width}", fix="one cell each; quote commas")


def _names(header: str, delimiter: str) -> list[str]:
    return [part.strip(' "\r\n') for part in header.split(delimiter)]
