"""A column that a table does not have: the error says which it has, and what names one."""

from __future__ import annotations

from collections.abc import Sequence

from plant_plugin.data.header_names import is_header_name
from plant_plugin.errors import DataError, suggestion

KEYS = "text_column", "labels_column", "id_column or --promise-by"


def check_there(names: Sequence[str], text: str, labels: str | None, number: str, where: str) -> None:
    """Raise a ``DataError`` where a column is missing.

    That of ids may be, where nobody named another than ``id``; and in an object, which has no header ``where`` it is
    told: that is a gap.
    """
    of_id = number if where and number != "id" else None
    for key, column in zip(KEYS, (text, labels, of_id), strict=True):
        if column is not None and column not in names:
            known = list(filter(is_header_name, names))  # without a header these are words of a document
            near = suggestion(column, known) if known else "line 1, or each JSON object, has to hold the names"
            raise DataError(f"there is no column {column!r}", where=where, fix=f"--{key} names it; {near}")
