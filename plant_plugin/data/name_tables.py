"""Tables of names: ``label TAB name TAB language`` lines, or a CSV of these columns, several lines a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from plant_plugin.data.name_columns import name_columns
from plant_plugin.data.text import one_label
from plant_plugin.data.vocabularies import LabelName
from plant_plugin.errors import DataError

LANGUAGE = re.compile(r"([A-Za-z]{2,3}|[xX](?=-))([-_][A-Za-z0-9]{1,8})*")  # as BCP 47 writes it, or with a line below
FORMAT = "each line has to be: label TAB name, and the name's language after another TAB where it is known"


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
