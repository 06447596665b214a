"""Which columns of a table are read, and how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from plant_plugin.data.label_column import Trained
from plant_plugin.data.missing_columns import check_there
from plant_plugin.errors import DataError

UTF8 = "utf-8-sig"  # a byte order mark is skipped


class Columns(NamedTuple):
    """Names of the columns that are read; ``labels`` is None where nobody asks for them."""

    text: str = "text"
    labels: str | None = "labels"
    id: str = "id"
    separator: str | None = None  # of labels in a text; None: what the whole column says
    after: Trained | None = None  # what training says of labels; None: this is the training file, or the only one
    encoding: str = UTF8  # of text, unless its first bytes say another one

    def check(self, names: Iterable[str], where: str) -> None:
        """Raise a ``DataError`` where a column is missing or there twice."""
        names = list(names)
        check_there(names, *self[:3], where)
        for column in filter(None, self[:3]):
            if names.count(column) > 1:
                what = f"several columns are called {column!r}"
                raise DataError(what, where=where, fix="give each a name of its own")


DEFAULT = Columns()
