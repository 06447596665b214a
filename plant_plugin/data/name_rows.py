"""Tables of names: ``label TAB name TAB language`` lines, or a CSV of these columns, several lines a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from plant_plugin.data.row_formats import DELIMITERS, csv_rows
from plant_plugin.data.text import one_label, plain_name, tab_separated, text_lines
from plant_plugin.data.vocabularies import LabelName
from plant_plugin.errors import DataError

# What a header calls the three columns; a table whose first row has other cells has no header.
HEADER = (
    {"label", "labels", "code", "codes", "id", "uri", "notation", "concept", "etiqueta", "codigo", "código", "kode"},
    {"name", "names", "title", "description", "term", "terms", "preflabel", "meaning", "long_title", "nombre",
     "descripcion", "descripción", "bezeichnung"},
    {"language", "lang", "idioma", "sprache"},
)  # fmt: skip
LANGUAGE = re.compile(r"([A-Za-z]{2,3}|[xX](?=-))([-_][A-Za-z0-9]{1,8})*")  # as BCP 47 writes it, or with a line below
FORMAT = "each line has to be: label TAB name, and the name's language after another TAB where it is known"


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
        what = f"columns: {len(cells)}, and the header has {len(order)}"
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


def table_rows(path: Path, say: Callable[[str], object] | None = None) -> Iterator[LabelName]:
    """Yield the names of a table in the order of its lines; what has no name is passed over.

    Where no more lines end in a language than in something else after a second TAB, TABs are parts of the names.

    Args:
        path: A ``.csv``, or any other ending for columns that TABs separate.
        say: Told where names hold TABs.

    Raises:
        DataError: A line has one column or more than three, no label, or a third column that is no language.
    """
    rows, free = name_columns(path)
    tagged = sum(len(cells) == 3 and bool(cells[2].strip()) and _is_tagged(cells) for _, cells in rows)
    odd = sum(not _is_tagged(cells) for _, cells in rows)
    joined = 0 < odd >= tagged and free
    if joined and say is not None:
        say(f"{path.name}: {odd + tagged} names hold a TAB, which is read as part of them; no languages")
    for where, cells in rows:
        if any(cell.strip() for cell in cells):
            yield from _row([cells[0], *(["\t".join(cells[1:])] if len(cells) > 1 else [])] if joined else cells, where)


def _is_tagged(cells: list[str]) -> bool:
    """Tell whether what stands after the name, if anything does, is a language."""
    return len(cells) < 3 or (len(cells) == 3 and bool(LANGUAGE.fullmatch(cells[2].strip() or "en")))


def table_text(names: Iterable[LabelName]) -> str:
    """Return names as such a table, a line each."""
    lines = (f"{label}\t{' '.join(name.split())}\t{language}".rstrip("\t") for label, name, language in names)
    return "".join(f"{line}\n" for line in lines)


def _row(cells: list[str], where: str) -> Iterator[LabelName]:
    if len(cells) == 1:
        raise DataError("no TAB", where=where, fix=FORMAT)
    label, name, language = one_label(cells[0]), cells[1].strip(), "".join(cells[2:3]).strip()
    if not label:
        raise DataError("a name without a label", where=where, fix=FORMAT)
    if not _is_tagged(cells):
        what = f"{len(cells)} columns, of which the third is no language"
        if len(cells) > 3:
            what = f"{len(cells)} columns"
        fix = f"{FORMAT} (e.g. en or es-MX); a name holds no TAB, each of several has a line of its own"
        raise DataError(what, where=where, fix=fix)
    if name:
        yield LabelName(label, name, language.replace("_", "-"))
