"""Lines of other programs where LibMultiLabel's text format is read: fastText's are read, others named with their cure.

fastText: a document a line, in which every word that begins with ``__label__`` is a label and the others are the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from plant_plugin.data.header_names import is_header_name
from plant_plugin.errors import DataError

PREFIX = "__label__"
SUBJECTS = re.compile(r"\s*((<\S+:\S+>|https?://\S+|urn:\S+)\s*)+")


def is_fasttext(line: str) -> bool:
    """Tell whether a line begins with a label of fastText, or has one elsewhere and no columns."""
    words = line.split()
    return any(word.lstrip('"').startswith(PREFIX) for word in (words[:1] if "\t" in line else words))


def fasttext_lines(lines: Iterator[str], name: str) -> Iterator[str]:
    """Yield lines of fastText as ``labels TAB text``; a ``DataError`` with file and line where one is none."""
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
            if word.lower().startswith(prefix.lower()):
                raise DataError("a label whose prefix has other capitals", fix=f"write {prefix}")
            words.append(word)
            continue
        label = word.removeprefix(prefix)
        if label.endswith(","):
            raise DataError("a comma after a label", fix="separate labels by spaces")
        if not label:
            raise DataError("a label without a name", fix="give it a name, or take it out")
        if prefix in label:
            raise DataError("two labels without a space between them", fix="separate labels by spaces")
        labels[label] = None
    return list(labels), " ".join(words)


def check_columns(cells: Sequence[str], where: str) -> None:
    """Raise a ``DataError`` where the first line has the columns of another format, or names them."""
    if all(map(is_header_name, cells)):
        raise DataError(
            "a header, not a document", where=where, fix="take this line out; in a file called .csv it may stay"
        )
    if SUBJECTS.fullmatch(cells[-1]):
        what = "URIs where the text should be, as in Annif's corpora (text TAB <uri> <uri>)"
        raise DataError(what, where=where, fix="plant prepare annif FILE FOLDER writes the files that are read here")
