"""Documents of every plain format, a row at a time: what training, prediction and all other commands read files with.

A row is a document. Tables have the columns ``text`` and ``labels``, unless others are named, and perhaps ``id``.
Labels are a list, or a text in which one sign separates those of the whole column (:mod:`.label_column`); white space
in a label becomes ``_``, as ``plant prepare`` has it.

LibMultiLabel's text format, ``txt``, is ``labels TAB text`` or ``id TAB labels TAB text``, one document a line; UTF-8,
no header, no quoting, labels separated by white space. LibMultiLabel reads it with pandas; on well-formed files the
documents are the same, with two differences that are meant. Every value stays a string: pandas makes a label column
``250.00`` the number ``250.0`` and takes labels called ``NA``, ``None`` or ``null`` for missing. And a line of another
width is an error: pandas drops a longer one with a warning and pads a shorter one.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, cast

from plant_plugin.data.arrow_rows import arrow_rows
from plant_plugin.data.columns import DEFAULT, UTF8, Columns
from plant_plugin.data.excel import excel_rows, sheets_line
from plant_plugin.data.first_documents import LOOKED, check_order, look_at
from plant_plugin.data.foreign_files import WIDTHS, as_row, as_text_format, foreign_object, plain_cells, width_of
from plant_plugin.data.json_shapes import deeper_documents
from plant_plugin.data.label_column import Trained, find_separator
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.row_formats import csv_rows, json_values
from plant_plugin.data.rows import NOT_UTF8, Document, Skipped, checked, document_of, problem_of, separated
from plant_plugin.data.text import (
    Documents,
    bounded,
    bounded_lines,
    decoded,
    open_text,
    plain_name,
    reading_errors,
)
from plant_plugin.data.unicode_forms import compose
from plant_plugin.errors import DataError
from plant_plugin.files import LONGEST_LINE, limit

logger = logging.getLogger(__name__)

STDIN = "-"
ENDINGS = {".csv": "csv", ".json": "jsonl", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".xlsx": "xlsx", ".xlsm": "xlsx"}  # fmt: skip
ARROW_FORMS = ("parquet", "datasets")
TABLES = ("csv", "jsonl", "xlsx", *ARROW_FORMS)  # formats whose columns have names
TEXT_FORMS = ("txt", "libmultilabel")  # two names of LibMultiLabel's text format
FORMS = ("lines", "text", "libmultilabel", "jsonl", "csv", "parquet", "xlsx")  # of new documents
LINES_KEPT = 5  # numbers of bad lines that are shown

A_TAB = DataError("a TAB, and the first line has none", fix="name the form of the file with --input")

Rows = Iterator[tuple[int, Document | DataError]]  # each with the number of the line or row that it begins in, from 1


@dataclass
class Table:
    """The documents of a file, read while they are asked for; once only where it is standard input.

    Attributes:
        source: A path (``.gz`` and ``.xz`` are decompressed), or ``-`` for standard input.
        form: ``txt`` or ``libmultilabel``, one of :data:`TABLES`, ``lines`` (a text on each line, an empty line being
            an empty text) or ``text`` (the file is one document). None: by the file's ending; else ``txt`` where the
            first line has one or two TABs, ``lines`` where it has none.
        columns: Which columns are read.
        skip_bad: Pass over rows that are no document and count them. Where labels are read, bytes of another encoding
            stay an error: what is trained on would lack all texts with an accent.
        otherwise: What else may be done about an error, after "or".
    """

    source: str | Path
    form: str | None = None
    columns: Columns = DEFAULT
    skip_bad: bool = False
    otherwise: str = ""
    skipped: Skipped = field(default_factory=Skipped, init=False)
    note: str = field(default="", init=False)  # what is to be said of how it was read

    def __post_init__(self) -> None:
        if self.form is None and (by_ending := form_of(Path(self.source))) in TABLES:
            self.form = by_ending

    @property
    def name(self) -> str:
        """Return how errors call it."""
        return "standard input" if self.source == STDIN else str(self.source)

    def __iter__(self) -> Iterator[Document]:
        """Yield the rows that are documents.

        Raises:
            DataError: (while reading) The file cannot be read, lacks a column, or a row is no document; with file and
                line, without its content.
        """
        for number, (where, line, row) in enumerate(self._rows(), 1):
            if isinstance(row, Document) and row.cell is not None and self.columns.labels is not None:
                row = separated(row, self.label_column)
            if isinstance(row, Document):
                row.number = number
                yield row
                continue
            fix = f"{row.fix}; or {self.otherwise}" if self.otherwise else row.fix
            error = DataError(row.what, where=f"{where} {line}", fix=fix)
            if not self.skip_bad or (row is NOT_UTF8 and self.columns.labels is not None):
                raise error
            self.skipped.count += 1
            self.skipped.problem = self.skipped.problem or error
            if len(self.skipped.lines) < LINES_KEPT:
                self.skipped.lines.append(line)

    @cached_property
    def label_column(self) -> LabelColumn:
        """Return how labels in a text are separated, by training or a look at all rows.

        Raises:
            DataError: Two separators are mixed, or one that training does not have.
        """
        if self.columns.separator is not None:
            return LabelColumn(self.columns.separator.replace("\\t", "\t"))
        cells = (row.cell for _, _, row in self._rows() if isinstance(row, Document) and row.cell is not None)
        return find_separator(
            plain_cells(cells, self.name), self.name, by_spaces=self.form in TEXT_FORMS, after=self.columns.after
        )

    @property
    def separated(self) -> LabelColumn | None:
        """Return how labels in a text were separated; None where none were."""
        return vars(self).get("label_column")

    def _rows(self) -> Iterator[tuple[str, int, Document | DataError]]:
        """Yield each row, the document or what is wrong with it, after the file with the unit, and the number in it."""
        with reading_errors(self.name, "check the path; `-` reads standard input"):
            if self.form in ARROW_FORMS:
                for file, number, cells in arrow_rows(Path(self.source), self.columns.check, self.columns[:3]):
                    yield f"{file}, row", number, document_of(cells, self.columns)
                return
            if self.form == "xlsx":
                self.note = sheets_line(Path(self.source))
                for number, row in self._named_rows(excel_rows(Path(self.source), self.columns.text)):
                    yield f"{self.name}, row", number, row
                return
            with self._opened() as stream:
                for number, row in self._rows_of(stream):
                    yield f"{self.name}, line", number, row

    def _rows_of(self, stream: IO[str]) -> Rows:
        if self.form == "text":
            text = bounded(stream.read(limit(LONGEST_LINE) + 1), self.name)
            return iter([(1, checked(Document(text)))])
        lines = bounded_lines(stream, self.name)
        if self.form == "csv":
            return self._named_rows(csv_rows(lines, self.columns.text))
        if self.form == "jsonl":
            return self._json_rows(lines)
        if self.form == "lines":
            return _line_rows(lines)
        lines = as_text_format(lines, self.name)
        if self.form in TEXT_FORMS:
            return self._text_rows(lines)
        return self._guessed_rows(lines)

    def _opened(self) -> AbstractContextManager[IO[str]]:
        newline = "" if self.form == "csv" else None
        if self.source != STDIN:
            return open_text(Path(self.source), newline, self.columns.encoding)
        # Not closed: standard input is not ours.
        stream = cast(io.BufferedReader, io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer)))
        return nullcontext(decoded(stream, self.name, newline, self.columns.encoding))

    def _guessed_rows(self, lines: Iterator[str]) -> Rows:
        """Let the first line that holds something decide whether there are columns."""
        head = list[str]()
        for line in lines:
            head.append(line)
            if line.strip():
                break
        if head and head[-1].count("\t") + 1 in WIDTHS:
            return self._in_order(self._text_rows(chain(head, lines)))
        rows = _line_rows(chain(head, lines))
        return ((number, A_TAB if isinstance(row, Document) and "\t" in row.text else row) for number, row in rows)

    def _in_order(self, rows: Rows) -> Rows:
        """Yield rows after a look at the first ones, and note in which order their columns are taken to be."""
        head = list[tuple[int, Document | DataError]]()
        seen = list[Document]()
        for number, row in islice(rows, LOOKED):
            head.append((number, row))
            if isinstance(row, DataError):
                break
            seen.append(row)
        ids = [row.id for row in seen if row.id is not None]
        check_order(ids, [row.cell or "" for row in seen], [row.text for row in seen], self.name)
        self.note = f"the columns of {self.name} were read as {'id, ' if ids else ''}labels and text"
        yield from chain(head, rows)

    def _text_rows(self, lines: Iterator[str]) -> Rows:
        """Read two or three columns, as the first line has; empty lines and those of spaces are no rows."""
        width = 0
        for number, line in enumerate(lines, 1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 1 and not cells[0].strip(" "):
                continue
            if (problem := problem_of(line)) is not None:
                yield number, problem
                continue
            if not width:
                width = width_of(cells, f"{self.name}, line {number}")
            if len(cells) != width:
                what = f"columns: {len(cells)}, and the first line has {width}"
                yield number, DataError(what, fix="a text must hold no TAB; replace it by a space")
            else:
                yield number, Document(cells[-1], id=cells[0] if width == 3 else None, cell=cells[-2])

    def _named_rows(self, rows: Iterator[tuple[int, list[str] | DataError]]) -> Rows:
        """Read rows of cells, the names of their columns first."""
        line, header = next(rows, (1, None))
        if header is None:
            return
        where = f"{self.name}, line {line}"
        if not isinstance(header, DataError) and not {*self.columns[:2]} <= {None, *header}:
            header = foreign_object(dict.fromkeys(header)) or header
        if isinstance(header, DataError):
            raise DataError(header.what, where=where, fix=header.fix)
        header = list(map(str.strip, header))
        self.columns.check(header, where)
        for line, row in rows:
            cells = row if isinstance(row, DataError) else dict(zip(header, row, strict=True))
            yield line, document_of(cells, self.columns)

    def _json_rows(self, lines: Iterator[str]) -> Rows:
        """Read an object on each line; or a list of objects, or objects over several lines, by how the file begins."""
        labels = self.columns.labels and f', "{self.columns.labels}": ["A", "B"]'
        fix = f'a line has to be an object like {{"{self.columns.text}": "…"{labels or ""}}}'
        for number, cells in json_values(enumerate(lines, 1)):
            row = deeper_documents(cells, self.columns.text) or as_row(cells, self.columns[:2], fix)
            yield number, document_of(row, self.columns)


def _line_rows(lines: Iterator[str]) -> Rows:
    return ((number, checked(Document(line.rstrip("\n")))) for number, line in enumerate(lines, 1))


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
    label_separator: str | None = None,
    id_column: str = "id",
    encoding: str | None = None,
    after: Trained | None = None,
) -> Documents:
    """Read all documents of a file.

    Args:
        path: The file.
        form: ``txt`` or one of :data:`TABLES`; None: by the file's ending.
        keep_texts: False leaves the texts empty, for who wants labels only.
        allow_bad_lines: Drop and count rows that are no documents; bytes of another encoding stay an error.
        text_column: Of tables.
        labels_column: Of tables. Numbers of Hugging Face's ``ClassLabel`` become their names.
        label_separator: Of labels in a text, a space for any white space; None: what the whole column says.
        id_column: Of tables.
        encoding: Of text, unless its first bytes say another one; None: UTF-8.
        after: What training says of labels; None: this is the training file, or the only one.

    Raises:
        DataError: As of a :class:`Table`, or there is no document.
        MissingExtraError: pyarrow is needed and not installed.
    """
    columns = Columns(text_column, labels_column, id_column, label_separator, after, encoding or UTF8)
    return read_columns(path, columns, form=form, keep_texts=keep_texts, allow_bad_lines=allow_bad_lines)


def read_columns(
    path: str | Path,
    columns: Columns,
    *,
    form: str | None = None,
    keep_texts: bool = True,
    allow_bad_lines: bool = False,
) -> Documents:
    """Read all documents of a file, as :func:`read_any`, of these columns."""
    otherwise = "drop such lines with --allow_bad_lines"
    table = Table(path, form or form_of(Path(path)), columns, allow_bad_lines, otherwise)
    documents, ids = Documents(), list[str]()
    for row in table:
        documents.texts.append(row.text if keep_texts else "")
        documents.labels.append(row.labels)
        if row.id is not None:
            ids.append(row.id)
    if not documents.texts:
        what, fix = "the file holds no document", "check that it was written completely"
        raise table.skipped.problem or DataError(what, where=str(path), fix=fix)
    documents.column, documents.note = table.separated, table.note
    documents.places = compose(documents.texts)
    documents.dropped, documents.ids = table.skipped.count, ids if len(ids) == len(documents) else None
    look_at(documents.texts, documents.labels, ids, str(path), named=table.form in TABLES, columns=columns)
    if ids and documents.ids is None:
        logger.warning(
            "%s: %d of %d rows have no id, so that no id is read", path, len(documents) - len(ids), len(documents)
        )
    return documents
