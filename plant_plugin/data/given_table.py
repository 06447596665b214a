"""Documents that a program holds in memory, as a file that all readers know."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from plant_plugin.errors import DataError

COLUMNS = ("text", "labels")


class Table(Protocol):
    """A table in memory by its columns: a ``pandas.DataFrame``, a ``datasets.Dataset``, a dictionary of lists."""

    def __getitem__(self, column: str, /) -> Iterable[object]:
        """Return a column."""


def file_of(documents: str | Path | Table, path: Path) -> str:
    """Return a file of documents: their own, or one beside ``path`` with what the table holds.

    Raises:
        DataError: The table has no column of texts or of labels.
    """
    if isinstance(documents, str | Path):
        return str(documents)
    import pandas as pd

    try:
        columns = {name: pd.Series(list(documents[name]), dtype=object) for name in COLUMNS}
    except KeyError as error:
        fix = "call the column of texts `text`, and that of their labels `labels`"
        raise DataError(f"the table has no column {error.args[0]}", where=path.name, fix=fix) from None
    written = path.with_suffix(".jsonl")
    pd.DataFrame(columns).to_json(written, orient="records", lines=True, force_ascii=False)
    return str(written)
