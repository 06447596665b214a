"""Whether documents look like documents: columns swapped, a header among them, a word a line, labels as 0 and 1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from plant_plugin.data.header_names import header_words
from plant_plugin.errors import DataError

MANY = 20  # documents from which on a word a line is no chance
RUNNING, LONG = 8, 40  # labels of a document, letters of a label that look like a text
NAME = re.compile(r"[^\W\d_][\w \-.]{0,40}")
URI = re.compile(r"(https?|urn|doi|ftp):\S+")
FLAGS = re.compile(r"[01]([\s,;|]+[01]){2,}|[01]{4,}")


def check_shape(texts: Sequence[str], labels: Sequence[Sequence[str]], where: str, *, named: bool) -> None:
    """Look at all documents of a file before anything is learned from them.

    Args:
        texts: Of the documents.
        labels: Theirs.
        where: The file, for errors.
        named: Whether the columns have names; else the first line may be a header.

    Raises:
        DataError: The file is of another shape; the message holds no content.
    """
    if not named and len(texts) > 1 and _is_header(texts, labels):
        what = "the first line seems to be a header, which would be a document"
        raise DataError(what, where=f"{where}, line 1", fix="take this line out")
    given = [each for each in labels if each]
    if not given:
        return
    if len(given) > 1 and all(FLAGS.fullmatch(" ".join(each)) for each in given):
        what = "the labels are 0 and 1: a place for each label of a list"
        raise DataError(what, where=where, fix="write the labels' names instead, separated by semicolons")
    if len(texts) >= MANY:
        _check_texts(texts, given, where, "name the columns" if named else "write labels TAB text")


def _is_header(texts: Sequence[str], labels: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first line names columns: short names, of known words or unlike all labels that follow."""
    text, names = texts[0].strip(), labels[0]
    if not NAME.fullmatch(text) or len(text.split()) > 2 or len(names) != 1:
        return False
    follow = {label for each in labels[1:] for label in each}
    if names[0] in follow or not NAME.fullmatch(names[0]):
        return False
    words = [header_words(name) for name in (text, names[0])]
    with_digits = sum(any(map(str.isdigit, label)) for label in follow)
    unlike = not any(map(str.isdigit, names[0])) and with_digits > 0.9 * len(follow) and len(follow) > 1
    return all(words) or (any(words) and unlike)


def _check_texts(texts: Sequence[str], labels: Sequence[Sequence[str]], where: str, fix: str) -> None:
    """Refuse texts that are labels, and words of which each has a line."""
    sample = list(filter(str.strip, texts))
    if not sample:
        return
    words = sum(len(text.split()) for text in sample) / len(sample)
    of_labels = sum(map(len, labels)) / len(labels)
    if all(URI.fullmatch(text.strip()) for text in sample):
        raise DataError("each text is an address or a URI", where=where, fix=f"give the texts themselves; {fix}")
    names = {label for each in labels for label in each}
    letters, of_names = sum(map(len, sample)) / len(sample), sum(map(len, names)) / len(names)
    as_words = of_labels >= RUNNING and of_labels > 3 * words and words <= 3 and len(names) > 3 * len(set(sample))
    if as_words or (of_names >= LONG and of_names > 3 * letters):
        what = "columns seem to be swapped: the labels are as long as texts, the texts short"
        raise DataError(what, where=where, fix=fix)
    if words == of_labels == 1 and len(set(sample)) < len(sample) / 2:
        what = "each text is one word with one label, as in files of marked words (CoNLL)"
        raise DataError(what, where=where, fix="give a document a line, with all its labels")
