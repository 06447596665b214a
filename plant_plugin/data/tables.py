"""Documents of every plain format, a row at a time: what training, prediction and all other commands read files with.

A row is a document. Tables have the columns ``text`` and ``labels``, unless others are named, and perhaps ``id``.
Labels are a list, or a text that separates them by ``;`` or else by spaces; white space in a label becomes ``_``, as
``plant prepare`` has it.

LibMultiLabel's text format, ``txt``, is ``labels TAB text`` or ``id TAB labels TAB text``, one document a line; UTF-8,
no header, no quoting, labels separated by white space. LibMultiLabel reads it with pandas; on well-formed files the
documents are the same, with two differences that are meant. Every value stays a string: pandas makes a label column
``250.00`` the number ``250.0`` and takes labels called ``NA``, ``None`` or ``null`` for missing. And a line of another
width is an error: pandas drops a longer one with a warning and pads a shorter one.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from plant_plugin.data.arrow import arrow_rows
from plant_plugin.data.text import (
    UNDECODED,
    Documents,
    bounded,
    bounded_lines,
    csv_rows,
    is_valid,
    one_label,
    open_text,
    plain_name,
    reading_errors,
)
from plant_plugin.errors import DataError, suggestion
from plant_plugin.files import LONGEST_LINE, limit

STDIN = "-"
ENDINGS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
ARROW_FORMS = ("parquet", "datasets")
TABLES = ("csv", "jsonl", *ARROW_FORMS)  # formats whose columns have names
WIDTHS = (2, 3)  # columns of the text format
HEADER = {"id", "label", "labels", "text"}  # what a table would call them
LINES_KEPT = 5  # numbers of bad lines that are shown

AS_UTF8 = "save the file as UTF-8 (iconv -f latin1 -t utf-8); a compressed file must end in .gz or .xz"
NOT_UTF8 = DataError("not valid UTF-8", fix=AS_UTF8)
NOT_TEXT = DataError("a NUL byte: this is no text", fix="give text, CSV, JSON lines or Parquet")
A_TAB = DataError("a TAB, and the first line has none", fix="name the form of the file with --input")


class Columns(NamedTuple):
    """Names of the columns that are read; ``labels`` is None where nobody asks for them."""

    text: str = "text"
    labels: str | None = "labels"
    id: str = "id"

    def check(self, names: Iterable[str], where: str) -> None:
        """Raise a ``DataError`` where a column is missing or there twice."""
        names = [str(name) for name in names]
        for key, column in zip(("text_column", "labels_column"), (self.text, self.labels), strict=True):
            if column is not None and column not in names:
                near = suggestion(column, names)
                # Without a header these "names" are a document's: only one that is nearly right is shown.
                near = near if near.startswith("did you mean") else "the first line has to hold the columns' names"
                raise DataError(f"there is no column {column!r}", where=where, fix=f"name the column: {key}; {near}")
        for column in self:
            if column is not None and names.count(column) > 1:
                raise DataError(
                    f"several columns are called {column!r}", where=where, fix="give each a name of its own"
                )


DEFAULT = Columns()


class Place(NamedTuple):
    """The place where a row begins."""

    file: str
    number: int  # from 1
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.file}, {self.unit} {self.number}"


class Row(NamedTuple):
    """A document."""

    text: str
    labels: list[str]
    id: str | None = None


@dataclass
class Skipped:
    """Bad rows that were passed over: how many, the numbers of the first of them, and what was wrong with the first."""

    count: int = 0
    lines: list[int] = field(default_factory=list)
    problem: DataError | None = None


Rows = Iterator[tuple[Place, Row | DataError]]
Cells = Mapping[str, object]


@dataclass(frozen=True)
class Table:
    """A file of documents: where it lies, and how it is read.

    Attributes:
        source: A path (``.gz`` and ``.xz`` are decompressed), or ``-`` for standard input.
        form: ``txt``, one of :data:`TABLES`, ``lines`` (a text on each line) or ``text`` (the file is one document).
            None: ``txt`` where the first line has one or two TABs, ``lines`` where it has none.
        columns: Which columns are read.
    """

    source: str | Path
    form: str | None
    columns: Columns

    @property
    def name(self) -> str:
        """Return how errors call it."""
        return "standard input" if self.source == STDIN else str(self.source)

    def documents(self, skipped: Skipped | None = None, otherwise: str = "") -> Iterator[Row]:
        """Yield the rows that are documents.

        Args:
            skipped: Counts the other rows; None: the first of them is an error. Bytes of another encoding are one in
                either case where labels are read: what is trained on would lack all texts with an accent.
            otherwise: What else may be done about an error, after "or".

        Raises:
            DataError: (while reading) The file cannot be read, lacks a column, or a row is no document; with file and
                line, without its content.
        """
        for place, row in self.rows():
            if isinstance(row, Row):
                yield row
                continue
            error = DataError(row.what, where=str(place), fix=f"{row.fix}; or {otherwise}" if otherwise else row.fix)
            if skipped is None or (row is NOT_UTF8 and self.columns.labels is not None):
                raise error
            skipped.count += 1
            skipped.problem = skipped.problem or error
            if len(skipped.lines) < LINES_KEPT:
                skipped.lines.append(place.number)

    def rows(self) -> Rows:
        """Yield each row with its place: the document, or what is wrong with it."""
        with reading_errors(self.name, "check the path; `-` reads standard input"):
            if self.form in ARROW_FORMS:
                for file, number, cells in arrow_rows(Path(self.source), self.columns.check, self.columns):
                    yield Place(str(file), number, "row"), _row(cells, self.columns)
                return
            with self._opened() as stream:
                if self.form == "text":
                    text = bounded(stream.read(limit(LONGEST_LINE) + 1), self.name)
                    yield Place(self.name, 1), _checked(Row(text, []))
                    return
                lines = bounded_lines(stream, self.name)
                if self.form == "csv":
                    yield from self._csv_rows(lines)
                elif self.form == "jsonl":
                    yield from self._json_rows(lines)
                elif self.form == "lines":
                    yield from self._line_rows(lines)
                elif self.form == "txt":
                    yield from self._text_rows(lines)
                else:
                    yield from self._guessed_rows(lines)

    def _opened(self) -> AbstractContextManager[IO[str]]:
        newline = "" if self.form == "csv" else None
        if self.source != STDIN:
            return open_text(Path(self.source), newline)
        # Not closed: standard input is not ours.
        return nullcontext(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", errors=UNDECODED, newline=newline))

    def _guessed_rows(self, lines: Iterator[str]) -> Rows:
        """Let the first line that holds something decide whether there are columns."""
        head = list[str]()
        for line in lines:
            head.append(line)
            if line.strip():
                break
        if head and head[-1].count("\t") + 1 in WIDTHS:
            return self._text_rows(chain(head, lines))
        rows = self._line_rows(chain(head, lines))
        return ((place, A_TAB if isinstance(row, Row) and "\t" in row.text else row) for place, row in rows)

    def _line_rows(self, lines: Iterator[str]) -> Rows:
        for number, line in enumerate(lines, 1):
            yield Place(self.name, number), _checked(Row(line.rstrip("\n"), []))

    def _text_rows(self, lines: Iterator[str]) -> Rows:
        """Read two or three columns, as the first line has; empty lines and those of spaces are no rows."""
        width = 0
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 1 and not cells[0].strip(" "):
                continue
            place = Place(self.name, number)
            if (problem := _problem(line)) is not None:
                yield place, problem
                continue
            if not width:
                width = _width(cells, place)
            if len(cells) != width:
                what = f"{len(cells)} columns where the first line has {width}"
                yield place, DataError(what, fix="a text must hold no TAB; replace it by a space")
            else:
                yield place, Row(cells[-1], cells[-2].split(), cells[0] if width == 3 else None)

    def _csv_rows(self, lines: Iterator[str]) -> Rows:
        rows = csv_rows(lines)
        line, header = next(rows, (1, None))
        if header is None:
            return
        place = Place(self.name, line)
        if isinstance(header, DataError):
            raise DataError(header.what, where=str(place), fix=header.fix)
        self.columns.check(header, str(place))
        for line, row in rows:
            cells = row if isinstance(row, DataError) else dict(zip(header, row, strict=True))
            yield Place(self.name, line), _row(cells, self.columns)

    def _json_rows(self, lines: Iterator[str]) -> Rows:
        fix = f'a line has to be an object like {{"{self.columns.text}": "…", "{self.columns.labels}": ["A", "B"]}}'
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    cells = json.loads(line)
                except (ValueError, RecursionError):  # its message would hold the line's content
                    cells = None
                problem = None if isinstance(cells, dict) else DataError("no JSON object", fix=fix)
                yield Place(self.name, number), problem or _row(cells, self.columns)


def _problem(text: str) -> DataError | None:
    """Tell what keeps characters from being a text."""
    if "\0" in text:
        return NOT_TEXT
    return None if is_valid(text) else NOT_UTF8


def _checked(row: Row) -> Row | DataError:
    return _problem(row.text) or _problem("".join((*row.labels, row.id or ""))) or row


def _width(cells: Sequence[str], place: Place) -> int:
    """Return how many columns the text format has, by its first line."""
    if len(cells) not in WIDTHS:
        fix = "replace every TAB inside a text by a space" if len(cells) > 1 else "separate labels and text by one TAB"
        what = f"expected 2 columns (labels TAB text) or 3 (id TAB labels TAB text), found {len(cells)}"
        raise DataError(what, where=str(place), fix=fix)
    if HEADER.issuperset(name.strip().lower() for name in cells):
        raise DataError("a header, which would be a document", where=str(place), fix="take this line out")
    return len(cells)


def _row(cells: Cells | DataError, columns: Columns) -> Row | DataError:
    """Return the document of a row of a table, or what is wrong with it."""
    if isinstance(cells, DataError):
        return cells
    try:
        columns.check(cells, "")
        text, labels = cells[columns.text], [] if columns.labels is None else _labels(cells, columns.labels)
        if not isinstance(text, str):
            what = f"the text under {columns.text!r} is {'empty' if text is None else f'a {type(text).__name__}'}"
            raise DataError(what, fix="give every document a text")
    except DataError as error:
        return error
    number = cells.get(columns.id)
    return _checked(Row(text, labels, None if number is None else str(number)))


def _labels(cells: Cells, column: str) -> list[str]:
    labels = cells[column]
    if isinstance(labels, str) and _is_list(labels.strip()):
        fix = "separate labels by semicolons (';'.join), or write JSON lines or Parquet, which have lists"
        raise DataError(f"the content of {column!r} is a list written as text", fix=fix)
    if isinstance(labels, str):
        names = labels.split(";") if ";" in labels else labels.split()
    elif labels is None:
        names = []
    elif isinstance(labels, Sequence) and all(isinstance(label, str | int) for label in labels):
        names = [str(label) for label in labels]
    else:
        fix = "a list of labels, or a text in which they are separated by spaces or semicolons"
        raise DataError(f"the content of {column!r} is no labels", fix=fix)
    return [joined for label in names if (joined := one_label(label))]


def _is_list(text: str) -> bool:
    """Tell whether a text is a list as pandas or people write it: its signs would be part of labels."""
    return text[:1] + text[-1:] == "[]" or (", " in text and ";" not in text)


def form_of(path: Path) -> str:
    """Return the format of a file's ending, ``txt`` where it names none; ``datasets`` for a folder."""
    return "datasets" if path.is_dir() else ENDINGS.get(plain_name(path).suffix.lower(), "txt")


def read_any(
    path: str | Path,
    *,
    form: str | None = None,
    keep_texts: bool = True,
    allow_bad_lines: bool = False,
    text_column: str = "text",
    labels_column: str = "labels",
) -> Documents:
    """Read all documents of a file.

    Args:
        path: The file.
        form: ``txt`` or one of :data:`TABLES`; None: by the file's ending.
        keep_texts: False leaves the texts empty, for who wants labels only.
        allow_bad_lines: Drop and count rows that are no documents; bytes of another encoding stay an error.
        text_column: Of tables.
        labels_column: Of tables. Numbers of Hugging Face's ``ClassLabel`` become their names.

    Raises:
        DataError: As of :meth:`Table.documents`, or there is no document.
        MissingExtraError: pyarrow is needed and not installed.
    """
    table = Table(path, form or form_of(Path(path)), Columns(text_column, labels_column))
    documents, ids, skipped = Documents(), list[str](), Skipped()
    otherwise = "drop such lines with --allow_bad_lines"
    for row in table.documents(skipped if allow_bad_lines else None, otherwise):
        documents.texts.append(row.text if keep_texts else "")
        documents.labels.append(row.labels)
        if row.id is not None:
            ids.append(row.id)
    if not documents.texts:
        what, fix = "the file holds no document", "check that it was written completely"
        raise skipped.problem or DataError(what, where=str(path), fix=fix)
    documents.dropped, documents.ids = skipped.count, ids if len(ids) == len(documents) else None
    return documents
