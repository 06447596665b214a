"""Documents of a file that must hold one."""

from __future__ import annotations

from collections.abc import Iterator

from plant_plugin.data.rows import Document
from plant_plugin.data.tables import Table
from plant_plugin.errors import DataError


def not_empty(documents: Table) -> Iterator[Document]:
    """Yield the documents.

    Raises:
        DataError: (while reading) As of the table; or, at its end, it held none.
    """
    there = False
    for document in documents:
        there = True
        yield document
    if not there:
        what, fix = "the file holds no document", "check that it was written completely"
        raise documents.skipped.problem or DataError(what, where=documents.name, fix=fix)
