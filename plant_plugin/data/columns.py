"""Which columns of a table are read, and how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from plant_plugin.data.header_names import is_header_name
from plant_plugin.data.label_column import Trained
from plant_plugin.errors import DataError, suggestion

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
        for key, column in (("text_column", self.text), ("labels_column", self.labels)):
            if column is not None and column not in names:
                known = list(filter(is_header_name, names))  # without a header these are words of a document
                near = suggestion(column, known) if known else "line 1, or each JSON object, has to hold the names"
                raise DataError(f"there is no column {column!r}", where=where, fix=f"--{key} names it; {near}")
        for column in self[:3]:
            if column is not None and names.count(column) > 1:
                raise DataError(
                    f"several columns are called {column!r}", where=where, fix="give each a name of its own"
                )


DEFAULT = Columns()
