"""Lines of other programs where LibMultiLabel's text format is read: fastText's are read, others named with their cure.

fastText: a document a line, in which every word that begins with ``__label__`` is a label and the others are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from plant_plugin.data.header_names import is_header_name
from plant_plugin.errors import DataError

PREFIX = "__label__"
SUBJECTS = re.compile(r"\s*((<\S+:\S+>|https?://\S+|urn:\S+)\s*)+")


def as_text_format(lines: Iterator[str], name: str) -> Iterator[str]:
    """Return lines as they are; those of fastText, which the first that holds something tells, as ``labels TAB text``.

    Raises:
        DataError: (while reading) A label of fastText has no name, or a line is quoted; with the file and the line.
    """
    head = list[str]()
    for line in lines:
        head.append(line)
        if line.strip():
            break
    every = chain(head, lines)
    return _rewritten(every, name) if head and is_fasttext(head[-1]) else every


def is_fasttext(line: str) -> bool:
    """Tell whether a line begins with a label of fastText, or has one elsewhere and no columns."""
    words = line.split()
    return any(word.lstrip('"').startswith(PREFIX) for word in (words[:1] if "\t" in line else words))


def _rewritten(lines: Iterator[str], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield line
            continue
        try:
            labels, text = fasttext_document(line)
        except DataError as error:
            raise DataError(error.what, where=f"{name}, line {number}", fix=error.fix) from None
        yield f"{' '.join(labels)}\t{text}\n"


def fasttext_document(line: str, prefix: str = PREFIX) -> tuple[list[str], str]:
    """Return the labels of a line, each once, and its text; a ``DataError`` where a label is none."""
    if line.startswith(f'"{prefix}'):
        fix = "write it without quotes: pandas' to_csv is given quoting=csv.QUOTE_NONE"
        raise DataError("the line is quoted as in CSV", fix=fix)
    labels, words = dict[str, None](), list[str]()
    for word in line.split():
        if not word.startswith(prefix):
            words.append(word)
            continue
        label = word.removeprefix(prefix)
        if not label:
            raise DataError("a label without a name", fix="give it a name, or take it out")
        if prefix in label:
            raise DataError("two labels without a space between them", fix="separate labels by spaces")
        labels[label] = None
    return list(labels), " ".join(words)


def check_columns(cells: Sequence[str], where: str) -> None:
    """Raise a ``DataError`` where the first line has the columns of another format, or names them."""
    if all(map(is_header_name, cells)):
        raise DataError("a header, which would be a document", where=where, fix="take this line out")
    if SUBJECTS.fullmatch(cells[-1]):
        what = "URIs where the text should be, as in Annif's corpora (text TAB <uri> <uri>)"
        raise DataError(what, where=where, fix="plant prepare annif FILE FOLDER writes the files that are read here")
