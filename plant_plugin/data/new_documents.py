"""New documents from files or standard input, one at a time, in any form that :mod:`.tables` reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plant_plugin.data.tables import DEFAULT, TABLES, Columns, Skipped, Table, form_of

FORMS = ("lines", "text", "libmultilabel", "jsonl", "csv", "parquet")


@dataclass(frozen=True)
class Document:
    """A document to predict for: the id that its file gives it, else its number from 1; and its text."""

    id: str
    text: str = field(repr=False)


class Documents:
    """The documents of a file, read while they are asked for; once only where it is standard input.

    Args:
        source: A path (``.gz`` and ``.xz`` are decompressed), or ``-`` for standard input.
        form: ``lines`` (a text on each line, an empty line being an empty text), ``text`` (the whole file is one
            document), ``libmultilabel`` (labels TAB text, or id TAB labels TAB text), ``jsonl`` (an object on each
            line), ``csv`` (with a header) or ``parquet``. None: by the file's ending; else ``libmultilabel`` where the
            first line has one or two TABs, and ``lines`` where it has none.
        columns: Names of the columns, or keys, of text and id; labels are not read.
        skip_bad: Pass over lines that are no document and count them in ``skipped``.

    Raises:
        DataError: (while reading) The file cannot be read, or a line is no document; the message names the line.
    """

    def __init__(
        self, source: str, form: str | None = None, *, columns: Columns = DEFAULT, skip_bad: bool = False
    ) -> None:
        self.source, self.skip_bad, self.skipped = source, skip_bad, Skipped()
        if form is None and (by_ending := form_of(Path(source))) in TABLES:
            form = by_ending
        self.form = form
        columns = columns._replace(labels=None)
        self._table = Table(source, "txt" if form == "libmultilabel" else form, columns)

    def __iter__(self) -> Iterator[Document]:
        rows = self._table.documents(self.skipped if self.skip_bad else None, "--skip-bad")
        for number, row in enumerate(rows, 1):
            yield Document(str(number + self.skipped.count) if row.id is None else row.id, row.text)
