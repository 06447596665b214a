"""New documents from files or standard input, one at a time, in any of five forms."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

from plant_plugin.data.text import (
    UNDECODED,
    bounded,
    bounded_lines,
    csv_rows,
    is_valid,
    json_rows,
    open_text,
    plain_name,
    reading_errors,
)
from plant_plugin.errors import DataError
from plant_plugin.files import LONGEST_LINE, limit

NUMBERS_KEPT = 5  # line numbers of bad lines that are told
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}
FORMS = ("lines", "text", "libmultilabel", "jsonl", "csv")
STDIN = "-"


@dataclass(frozen=True)
class Document:
    """A document to predict for: the id that its file gives it, else its number from 1; and its text."""

    id: str
    text: str = field(repr=False)


@dataclass
class Skipped:
    """Bad lines that were passed over: how many, and the numbers of the first of them."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


class Found(NamedTuple):
    """A document's text and, where it has one, its id."""

    text: str
    id: str | None = None


class Fields(NamedTuple):
    """Keys or columns of text and id."""

    text: str = "text"
    id: str = "id"


# Each with the number of its line; what is wrong with it is told without its content, and without the file's name.
Items = Iterator[tuple[int, Found | DataError]]


class Documents:
    """The documents of a file, read while they are asked for; once only where it is standard input.

    Args:
        source: A path (``.gz`` and ``.xz`` are decompressed), or ``-`` for standard input.
        form: ``lines`` (a text on each line, an empty line being an empty text), ``text`` (the whole file is one
            document), ``libmultilabel`` (labels TAB text, or id TAB labels TAB text; the labels are not read),
            ``jsonl`` (an object on each line) or ``csv`` (with a header). None: by the file's ending; else
            ``libmultilabel`` where the first line has one or two TABs, and ``lines`` where it has none.
        fields: Keys or columns of ``jsonl`` and ``csv``.
        skip_bad: Pass over lines that are no document and count them in ``skipped``.

    Raises:
        DataError: (while reading) The file cannot be read, or a line is no document; the message names the line.
    """

    def __init__(
        self, source: str, form: str | None = None, *, fields: Fields | None = None, skip_bad: bool = False
    ) -> None:
        self.source, self.skip_bad, self.fields = source, skip_bad, fields or Fields()
        self._name = "standard input" if source == STDIN else source
        self.form = form or ENDINGS.get(plain_name(Path(source)).suffix.lower())
        self.skipped = Skipped()

    def __iter__(self) -> Iterator[Document]:
        with (
            reading_errors(self._name, "check the path; `-` reads standard input"),
            _opened(self.source, "" if self.form == "csv" else None) as stream,
        ):
            for number, (line, item) in enumerate(self._items(stream), 1):
                if isinstance(item, Found):
                    yield Document(str(number) if item.id is None else item.id, item.text)
                    continue
                if not self.skip_bad:
                    raise DataError(item.what, where=f"{self._name}, line {line}", fix=f"{item.fix}; or --skip-bad")
                self.skipped.count += 1
                if len(self.skipped.lines) < NUMBERS_KEPT:
                    self.skipped.lines.append(line)

    def _items(self, stream: IO[str]) -> Items:
        if self.form == "text":
            text = bounded(stream.read(limit(LONGEST_LINE) + 1), self._name)
            yield 1, _problem(text) or Found(text)
            return
        lines = bounded_lines(stream, self._name)
        if self.form == "csv":
            yield from _table(lines, self.fields, self._name)
            return
        if self.form == "jsonl":
            yield from _objects(lines, self.fields)
            return
        head = list[str]()  # the first line that holds something decides
        for line in lines:
            head.append(line)
            if line.strip():
                break
        if not head:
            return
        first = head[-1]
        form = self.form or ("libmultilabel" if first.count("\t") in (1, 2) else "guessed lines")
        for number, line in enumerate((line.rstrip("\n") for line in chain(head, lines)), 1):
            if (problem := _problem(line)) is not None:
                yield number, problem
            elif form == "lines":
                yield number, Found(line)
            elif form == "guessed lines":
                yield number, _NOT_LINES if "\t" in line else Found(line)
            elif line.strip():
                yield number, _columns(line, first.count("\t") + 1)


_NOT_LINES = DataError("a TAB, and the first line has none", fix="name the form of the file with --input")


def _objects(lines: Iterator[str], fields: Fields) -> Items:
    fix = f'a line has to be an object like {{"{fields.id}": "7", "{fields.text}": "…"}}; see --text-field'
    for line, row in json_rows(lines, fix):
        text = None if isinstance(row, DataError) else row.get(fields.text)
        if isinstance(row, DataError):
            yield line, row
        elif not isinstance(text, str):
            yield line, DataError(f"no object with a text under {fields.text!r}", fix=fix)
        else:
            key = None if row.get(fields.id) is None else str(row[fields.id])
            yield line, _problem(f"{key}{text}") or Found(text, key)  # JSON can spell what no text holds


def _columns(line: str, columns: int) -> Found | DataError:
    parts = line.split("\t")
    if columns not in (2, 3):
        fix = "lines have to be labels TAB text, or id TAB labels TAB text"
        return DataError(f"{columns} columns in the first line", fix=fix)
    if len(parts) != columns:
        return DataError(f"{len(parts)} columns where the first line has {columns}", fix="a text must hold no TAB")
    return Found(parts[-1], parts[0] if columns == 3 else None)


def _table(lines: Iterator[str], fields: Fields, name: str) -> Items:
    rows = csv_rows(lines, strict=True)  # else a quote that nothing ends takes all behind it for one text
    _, header = next(rows, (1, None))
    if header is None:
        return
    if isinstance(header, DataError) or fields.text not in header:
        # what stands there may be no header but a document
        fix = "begin with a line of column names, and name that of the text with --text-field"
        raise DataError(f"no column {fields.text!r}", where=f"{name}, line 1", fix=fix)
    for column in (fields.text, fields.id):
        if header.count(column) > 1:
            fix = "give each a name of its own"
            raise DataError(f"several columns are called {column!r}", where=f"{name}, line 1", fix=fix)
    place, key = header.index(fields.text), header.index(fields.id) if fields.id in header else None
    for line, row in rows:
        if isinstance(row, DataError):
            yield line, row
        else:
            yield line, _problem("".join(row)) or Found(row[place], None if key is None else row[key])


def _problem(text: str) -> DataError | None:
    """What keeps characters from being a text."""
    if "\0" in text:
        return DataError("a NUL byte: this is no text", fix="give text, CSV or JSON lines (Parquet trains only)")
    if not is_valid(text):
        return DataError("not valid UTF-8", fix="save the file as UTF-8 (iconv -f latin1 -t utf-8)")
    return None


def _opened(source: str, newline: str | None) -> AbstractContextManager[IO[str]]:
    if source != STDIN:
        return open_text(Path(source), newline)
    # Not closed: standard input is not ours.
    return nullcontext(io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", errors=UNDECODED, newline=newline))
