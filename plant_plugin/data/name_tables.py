"""Tables of names: ``label TAB name TAB language`` lines, or a CSV of these columns, several lines a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from plant_plugin.data.row_formats import DELIMITERS, csv_rows
from plant_plugin.data.text import one_label, plain_name, tab_separated, text_lines
from plant_plugin.data.vocabularies import LabelName
from plant_plugin.errors import DataError

LANGUAGE = re.compile(r"([A-Za-z]{2,3}|[xX](?=-))([-_][A-Za-z0-9]{1,8})*")  # as BCP 47 writes it, or with a line below
# What a header calls the three columns; a table whose first row has other cells has no header.
HEADER = (
    {"label", "labels", "code", "codes", "id", "uri", "notation", "concept", "etiqueta", "codigo", "código", "kode"},
    {"name", "names", "title", "description", "term", "terms", "preflabel", "meaning", "long_title", "nombre",
     "descripcion", "descripción", "bezeichnung"},
    {"language", "lang", "idioma", "sprache"},
)  # fmt: skip
FORMAT = "each line has to be: label TAB name, and the name's language after another TAB where it is known"


def table_rows(path: Path) -> Iterator[LabelName]:
    """Yield the names of a table in the order of its lines; what has no name is passed over.

    Raises:
        DataError: A line has one column or more than three, no label, or a third column that is no language.
    """
    rows = _csv(path) if plain_name(path).suffix == ".csv" else tab_separated(path, newline="\n")
    if (first := next(rows, None)) is None:
        return
    order = _header(first[1], first[0])
    for where, cells in rows if order else chain([first], rows):
        if any(cell.strip() for cell in cells):
            yield from _row([cells[column] for column in order] if order else cells, where)


def table_text(names: Iterable[LabelName]) -> str:
    """Return names as such a table, a line each."""
    lines = (f"{label}\t{' '.join(name.split())}\t{language}".rstrip("\t") for label, name, language in names)
    return "".join(f"{line}\n" for line in lines)


def _header(cells: list[str], where: str) -> list[int]:
    """Return which columns are the label, the name and the language; none where the first row is no header."""
    roles = [next((role for role, names in enumerate(HEADER) if cell.strip().lower() in names), -1) for cell in cells]
    if not {0, 1} <= set(roles):
        return []
    if -1 in roles or len(set(roles)) < len(roles):
        what = f"{len(cells)} columns, of which label, name and language are not each one"
        raise DataError(what, where=where, fix="leave the columns label, name and language, called so")
    return sorted(range(len(roles)), key=roles.__getitem__)


def _row(cells: list[str], where: str) -> Iterator[LabelName]:
    if len(cells) == 1:
        raise DataError("no TAB", where=where, fix=FORMAT)
    label, name, language = one_label(cells[0]), cells[1].strip(), "".join(cells[2:3]).strip()
    if not label:
        raise DataError("a name without a label", where=where, fix=FORMAT)
    if len(cells) > 3 or (language and not LANGUAGE.fullmatch(language)):
        what = f"{len(cells)} columns, of which the third is no language"
        if len(cells) > 3:
            what = f"{len(cells)} columns"
        fix = f"{FORMAT} (e.g. en or es-MX); a name holds no TAB, each of several has a line of its own"
        raise DataError(what, where=where, fix=fix)
    if name:
        yield LabelName(label, name, language.replace("_", "-"))


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
