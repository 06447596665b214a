"""Columns of a table of names: TABs or a CSV, with a header or without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from plant_plugin.data.row_formats import DELIMITERS, csv_rows
from plant_plugin.data.text import plain_name, tab_separated, text_lines
from plant_plugin.errors import DataError

# What a header calls the three columns; a table whose first row has other cells has no header.
HEADER = (
    {"label", "labels", "code", "codes", "id", "uri", "notation", "concept", "etiqueta", "codigo", "código", "kode"},
    {"name", "names", "title", "description", "term", "terms", "preflabel", "meaning", "long_title", "nombre",
     "descripcion", "descripción", "bezeichnung"},
    {"language", "lang", "idioma", "sprache"},
)  # fmt: skip


def name_columns(path: Path) -> tuple[list[tuple[str, list[str]]], bool]:
    """Return the places and cells of the rows, label, name and language first; whether TABs may be parts of names.

    Raises:
        DataError: A header has other columns, or a row of a CSV is none.
    """
    is_csv = plain_name(path).suffix == ".csv"
    rows = list(_csv(path) if is_csv else tab_separated(path, newline="\n"))
    if order := _header(rows[0][1], rows[0][0]) if rows else []:
        rows = [(where, _ordered(cells, order, where)) for where, cells in rows[1:]]
    return rows, not order and not is_csv


def _ordered(cells: list[str], order: list[int], where: str) -> list[str]:
    """Return the cells of a row as a header orders them; its language may be missing at the end."""
    if max(order[:2]) >= len(cells) and any(cell.strip() for cell in cells):
        what = f"{len(cells)} columns where the header has {len(order)}"
        raise DataError(what, where=where, fix="write each row as wide as the header")
    return [cells[column] if column < len(cells) else "" for column in order]


def _header(cells: list[str], where: str) -> list[int]:
    """Return which columns are the label, the name and the language; none where the first row is no header."""
    roles = [next((role for role, names in enumerate(HEADER) if cell.strip().lower() in names), -1) for cell in cells]
    if not {0, 1} <= set(roles):
        return []
    if -1 in roles or len(set(roles)) < len(roles):
        what = f"{len(cells)} columns, of which label, name and language are not each one"
        raise DataError(what, where=where, fix="leave the columns label, name and language, called so")
    return sorted(range(len(roles)), key=roles.__getitem__)


def _csv(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a CSV with their places; its first cell ends at what separates the columns."""
    with text_lines(path, newline="") as lines:
        first = next(lines, "")
        cell = re.split(f"[{re.escape(''.join(DELIMITERS))}]", first)[0].strip(' "\r\n')
        for number, cells in csv_rows(chain([first], lines), cell):
            where = f"{path}, line {number}"
            if isinstance(cells, DataError):
                raise DataError(cells.what, where=where, fix=cells.fix)
            if len(cells) == 1:
                what, fix = "a single column", "separate label, name and language by commas; .tsv files by TABs"
                raise DataError(what, where=where, fix=fix)
            yield where, cells
