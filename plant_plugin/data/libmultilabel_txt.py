"""LibMultiLabel's text format: ``labels TAB text`` or ``id TAB labels TAB text``, one document a line.

UTF-8, no header, no quoting, labels separated by white space; plain, ``.gz`` or ``.xz``.

LibMultiLabel reads the same files with pandas. On well-formed files the documents are the same, with two differences
that are meant: every value stays a string (pandas makes the label column ``038.9`` a number and ``250.00`` then reads
``250.0`` when each document has one label; it also takes labels called ``NA``, ``None`` or ``null`` for missing), and
a line of another width is an error here (pandas drops a longer one with a warning and pads a shorter one).
"""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from plant_plugin.errors import DataError

COLUMNS = (2, 3)

Spans = list[tuple[int, int]]  # where each begins and ends, in characters of a text
DocumentEvidence = dict[str, Spans]  # label -> spans, see :mod:`plant_plugin.data.evidence`


@dataclass
class ReadCounts:
    """How many documents were ``read``, lines ``dropped`` for their width, and documents kept ``without_labels``."""

    read: int = 0
    dropped: int = 0
    without_labels: int = 0


@dataclass
class Documents:
    """What a reader returns: parallel lists; ``ids`` and ``evidence`` are None where there are none."""

    texts: list[str] = field(default_factory=list)
    labels: list[list[str]] = field(default_factory=list)
    ids: list[str] | None = None
    counts: ReadCounts = field(default_factory=ReadCounts)
    evidence: list[DocumentEvidence] | None = None


def read_libmultilabel_text(path: str | Path, *, allow_bad_lines: bool = False, keep_texts: bool = True) -> Documents:
    """Read one file of LibMultiLabel's text format.

    The first line decides whether there are two or three columns. Lines that are empty or hold only spaces are
    skipped, as pandas does.

    Args:
        path: The file; a name ending in ``.gz`` or ``.xz`` is decompressed while reading.
        allow_bad_lines: Drop and count lines whose number of columns differs from the first line's.
        keep_texts: False leaves the texts empty, for who wants labels only.

    Raises:
        DataError: The file is missing, empty, corrupt or not UTF-8, its first line has neither two nor three columns,
            or (without ``allow_bad_lines``) a later line has another number of columns. Messages name file and line,
            never text or ids.
    """
    path = Path(path)
    documents = Documents()
    columns = 0
    with _reading_errors(path), _open(path) as stream:
        for number, line in enumerate(stream, 1):
            line = line.rstrip("\n")
            if not line.strip(" "):
                continue
            if not line.isascii():
                _check_utf8(line, path, number)
            fields = line.split("\t")
            if not columns:
                columns = _first_line_columns(len(fields), path, number)
                documents.ids = [] if columns == 3 else None
            if len(fields) != columns:
                if not allow_bad_lines:
                    raise _bad_line(len(fields), columns, path, number)
                documents.counts.dropped += 1
                continue
            documents.texts.append(fields[-1] if keep_texts else "")
            documents.labels.append(fields[-2].split())
            if documents.ids is not None:
                documents.ids.append(fields[0])
    if not columns:
        raise DataError("the file holds no document", where=str(path), fix="check that it was written completely")
    documents.counts.read = len(documents.texts)
    documents.counts.without_labels = sum(not labels for labels in documents.labels)
    return documents


def _open(path: Path) -> io.TextIOWrapper:
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    binary = cast("IO[bytes]", opener(path, "rb"))  # type: ignore[operator]
    # Escaped instead of strict: a strict decoder reads ahead and could not tell which line is wrong.
    return io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline=None)


@contextmanager
def _reading_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("no such file", where=str(path), fix="check the path") from error
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise DataError(
            f"the compressed file is cut off or not a {path.suffix} file",
            where=str(path),
            fix="copy or compress it again, or name it without .gz/.xz when it is plain text",
        ) from error
    except OSError as error:
        raise DataError(f"the file cannot be read ({error.strerror or error})", where=str(path)) from error


def _check_utf8(line: str, path: Path, number: int) -> None:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        # `from None`: the original error carries the line's text.
        raise DataError(
            "not valid UTF-8",
            where=f"{path}, line {number}",
            fix="save the file as UTF-8 (iconv -f latin1 -t utf-8); a compressed file must end in .gz or .xz",
        ) from None


def _first_line_columns(columns: int, path: Path, number: int) -> int:
    if columns in COLUMNS:
        return columns
    raise DataError(
        f"expected 2 columns (labels TAB text) or 3 (id TAB labels TAB text), found {columns}",
        where=f"{path}, line {number}",
        fix="separate labels and text by one TAB" if columns == 1 else "replace every TAB inside a text by a space",
    )


def _bad_line(found: int, columns: int, path: Path, number: int) -> DataError:
    return DataError(
        f"{found} columns where the first line has {columns}",
        where=f"{path}, line {number}",
        fix="a text must hold no TAB; replace it by a space, or drop such lines with --allow_bad_lines",
    )
