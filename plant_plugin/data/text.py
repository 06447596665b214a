"""Text files: plain, ``.gz`` or ``.xz``, read line by line, with errors that are sentences without content."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO

from plant_plugin.data.file_kind import HEAD, encoding_of
from plant_plugin.data.json_text import parsed_json as parsed_json
from plant_plugin.data.label_column import Trained
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.label_separators import one_label as one_label  # where its users look for it
from plant_plugin.errors import DataError
from plant_plugin.files import LONGEST_LINE, above_limit, limit

# What both return has a `peek` too.
OPENERS: dict[str, Callable[..., io.BufferedReader]] = {".gz": gzip.open, ".xz": lzma.open}  # type: ignore[dict-item]
NO_NUL = "give a text file, or its .gz or .xz"
AS_UTF8 = (
    "if it is text, name its encoding (--encoding latin-1), or save it as UTF-8; what is compressed ends in .gz or .xz"
)
UNDECODED = "surrogateescape"  # see open_text
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)

Spans = list[tuple[int, int]]  # where each begins and ends, in characters of a text
DocumentEvidence = dict[str, Spans]  # label -> spans, see :mod:`plant_plugin.data.evidence`
DocumentMarks = dict[str, list[Spans]]  # label -> marks, each with its parts


@dataclass
class Documents:
    """The documents that a reader returns: parallel lists, with texts and labels as the file has them.

    Attributes:
        ids: None where the file has none.
        dropped: Lines that are left out, because they are not of the format.
        places: Of documents whose texts the file has in another form, by number: see :func:`.compose`.
        column: How labels that were one text were separated; None where they were lists.
        note: What is to be said of how the file was read.
        evidence: What made somebody assign its labels to each document; None where no file says so.
    """

    texts: list[str] = field(default_factory=list, repr=False)
    labels: list[list[str]] = field(default_factory=list, repr=False)
    ids: list[str] | None = field(default=None, repr=False)
    dropped: int = 0
    column: LabelColumn | None = None
    note: str = ""
    places: dict[int, list[int]] = field(default_factory=dict, repr=False)
    evidence: list[DocumentEvidence] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def without_labels(self) -> int:
        """Count the documents that have none."""
        return sum(not labels for labels in self.labels)

    @property
    def trained(self) -> Trained:
        """Return what these documents, as those of training, say of labels of files that are read after them."""
        return Trained(self.column, frozenset(label for labels in self.labels for label in labels))

    def hash(self) -> str:
        """Return SHA-256 (hex) over texts and labels, in order."""
        return self._hash

    @cached_property
    def _hash(self) -> str:
        digest = hashlib.sha256()
        for text, labels in zip(self.texts, self.labels, strict=True):
            for part in (text.encode(), " ".join(labels).encode()):
                digest.update(len(part).to_bytes(8, "little"))  # so that no two can run together alike
                digest.update(part)
        return digest.hexdigest()


def plain_name(path: Path) -> Path:
    """Return the path without the ending that says how the file is compressed."""
    return path.with_suffix("") if path.suffix in OPENERS else path


def packed(path: Path) -> Path | None:
    """Return the file itself, or the compressed one in its place; None where there is neither.

    What is there under such a name and is no file, as a link to nowhere, is an error where it is read.
    """
    places = (path, *(Path(f"{path}{end}") for end in OPENERS))
    return next((place for there in (os.path.isfile, os.path.lexists) for place in places if there(place)), None)


def open_text(path: Path, newline: str | None, encoding: str = "utf-8-sig") -> IO[str]:
    """Open a text file, decompressed by its ending; bytes of another encoding become lone surrogates.

    A strict decoder reads ahead and would not know which line is wrong (:func:`is_valid` does).

    Raises:
        DataError: The file is no text, by its first bytes.
    """
    stream = OPENERS.get(path.suffix, open)(path, "rb")
    try:
        return decoded(stream, str(path), newline, encoding)
    except BaseException:
        stream.close()
        raise


def decoded(stream: io.BufferedReader, name: str, newline: str | None, encoding: str = "utf-8-sig") -> io.TextIOWrapper:
    """Return the text of a stream, in the encoding that its first bytes say, else in ``encoding``."""
    encoding = encoding_of(stream.peek(HEAD)[:HEAD], name, encoding)
    try:
        return io.TextIOWrapper(stream, encoding=encoding, errors=UNDECODED, newline=newline)
    except LookupError as error:
        raise DataError(f"there is no encoding {encoding!r}", where=name, fix="e.g. utf-8 or latin-1") from error


def is_valid(text: str) -> bool:
    """Tell whether a text that was read holds no NUL and no bytes of another encoding."""
    if text.isascii():
        return "\0" not in text
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def reading_errors(name: str, fix: str = "check the path") -> Iterator[None]:
    """Raise a ``DataError`` without the file's content in the place of the system's or a decompressor's."""
    try:
        yield
    except DAMAGED as error:
        what = f"the compressed file is cut off or not a {Path(name).suffix} file"
        again = "copy, download or compress it again, or name it without .gz/.xz when it is plain text"
        raise DataError(what, where=name, fix=again) from error
    except FileNotFoundError as error:
        raise DataError("no such file", where=name, fix=fix) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"the file cannot be read ({reason})", where=name, fix=fix) from error
    except UnicodeDecodeError as error:  # of encodings with several bytes a character; `from None`: it carries the text
        what, again = f"not valid {error.encoding.upper()}, or cut off", "save it as UTF-8, or copy it again"
        raise DataError(what, where=name, fix=again) from None


@contextmanager
def text_lines(path: Path, newline: str | None = "\n", encoding: str = "utf-8-sig") -> Iterator[Iterator[str]]:
    r"""Yield the lines of a file, with their ends.

    Args:
        path: The file.
        newline: ``"\n"`` ends lines only there; ``""`` at any line end, left as it is; None at any, made one.
        encoding: Of the text; a byte order mark of UTF-8 is skipped.

    Raises:
        DataError: The file or the encoding is not there, or (while reading) it is cut off or of another encoding.
    """
    with reading_errors(str(path)):
        stream = open_text(path, newline, encoding)
    with stream:
        yield _checked(stream, path, encoding.removesuffix("-sig").upper())


def _checked(stream: IO[str], path: Path, encoding: str) -> Iterator[str]:
    number, fix = 0, AS_UTF8
    try:
        with reading_errors(str(path)):
            for number, line in enumerate(bounded_lines(stream, str(path)), 1):
                if "\0" in line:
                    raise DataError("a NUL byte: this is no text", where=f"{path}, line {number}", fix=NO_NUL)
                if not is_valid(line):
                    raise DataError(f"not valid {encoding}", where=f"{path}, line {number}", fix=fix)
                yield line
    except UnicodeDecodeError:  # of encodings with several bytes a character; `from None`: it carries the text
        raise DataError(f"not valid {encoding}", where=f"{path}, soon after line {number}", fix=fix) from None


def bounded_lines(stream: IO[str], name: str) -> Iterator[str]:
    """Yield the lines of a stream; a ``DataError`` instead of one that would fill the memory."""
    most = limit(LONGEST_LINE)
    while line := stream.readline(most + 1):
        yield bounded(line, name)


def bounded(text: str, name: str) -> str:
    """Return a text that is not longer than a line may be; a ``DataError`` about others."""
    if len(text) <= (most := limit(LONGEST_LINE)):
        return text
    raise above_limit(
        f"a line of more than {most:,} characters", name, "give one document a line; is it a binary file?"
    )


def tab_separated(path: Path, newline: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield the place (``train.txt, line 7``) and the columns of each line that is not empty."""
    with text_lines(path, newline=newline) as lines:
        for number, line in enumerate(lines, 1):
            if line := line.rstrip("\n"):
                yield f"{path}, line {number}", line.split("\t")
