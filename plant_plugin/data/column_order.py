"""In which order the columns of a text file are, by a look at its first documents: id, labels and text, or another."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plant_plugin.data.mixed_labels import is_code
from plant_plugin.errors import DataError

LOOKED = 32  # documents that are looked at where a file is not read as a whole
RUNNING = 5  # words from which on a cell looks like a text
BETWEEN = re.compile(r"[\s,;|]+")
FIX = "write `labels TAB text` or `id TAB labels TAB text`; or a table with a header (CSV, JSON lines)"


def check_order(ids: Sequence[str], labels: Sequence[str], texts: Sequence[str], where: str) -> None:
    """Refuse columns of which another one than the last holds the texts.

    Args:
        ids: Those of documents, as the file has them; empty where it has none.
        labels: Of each document, as they are written.
        texts: Of each document.
        where: The file, for errors.

    Raises:
        DataError: The columns are in another order; the message holds none of their content.
    """
    if (of_ids := _words(ids)) >= RUNNING and of_ids > 3 * _words(texts):
        raise DataError("the first of three columns, for ids, seems to hold the texts", where=where, fix=FIX)
    codes = 0
    for word in (word for text in texts for word in BETWEEN.split(text) if word):
        if not is_code(word):  # most texts end here: all their words at once would take gigabytes
            return
        codes += 1
    if codes and _words(labels) >= RUNNING and sum(map(is_code, " ".join(labels).split())) < codes:
        raise DataError("the labels seem to be texts, and the texts codes", where=where, fix=FIX)


def _words(cells: Sequence[str]) -> float:
    """Return the words of a cell, on average."""
    return sum(len(cell.split()) for cell in cells) / max(1, len(cells))
