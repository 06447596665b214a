"""A look at the documents of a file before anything is learned from them: whether they are documents, with labels.

All commands that read documents come here: what a few rows say already, and the order of columns and the shape, which
have modules of their own.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Sequence

from plant_plugin.data.columns import Columns
from plant_plugin.data.label_separators import is_code
from plant_plugin.data.shape import check_shape
from plant_plugin.errors import DataError

FIRST = 32  # documents that are looked at where a file is not read as a whole
RUNNING = 5  # words from which on a cell looks like a text
BETWEEN = re.compile(r"[\s,;|]+")
FIX = "write `labels TAB text` or `id TAB labels TAB text`; or a table with a header (CSV, JSON lines)"
NOTHING = frozenset({"", "nan", "none", "null", "n/a", "na", "<na>", "#n/a"})
NO_LABELS = frozenset({"nan", "none", "null", "n/a", "<na>", "#n/a", "and", "und", "et", "or", "&", "?", "-"})
Labels = Sequence[Sequence[str]]
LOOKED, HEAD = 1_000, 300  # documents that are looked at, and characters of each: all words take too much memory

A_FLAG = r"(?:[01](?:\.0)?|true|false)"
FLAGS = re.compile(rf"{A_FLAG}( {A_FLAG}){{2,}}", re.IGNORECASE)
TAG = re.compile(r"O|[BIESUL]-\S+")  # of a word, as CoNLL has it
ICD = re.compile(r"[A-Z]\d[\dA-Z](\.?[\dA-Z]{1,4})?[-+*†]?|[VE]?\d{3}\.\d{1,2}")
JSON = re.compile(r"\s*(\{\s*\"[^\"]*\"\s*:.*\}|\[\s*[{\"].*\])\s*", re.DOTALL)
A_NAME = re.compile(r"\s*[^\W\d_][^\d\s]*\s*")  # a word of a header
PAIRS = ("[]", "{}", "()", '""', "``", "“”", "„“", "«»")
IN_BRACKETS = re.compile(r"\[.*\]|\{.*\}|\(.*\)")
IN_QUOTES = re.compile(r"\".+\"|'.+'|`.+`|“.+”|„.+“|«.+»")
SINGLE, WIDE = (
    "/+&#$\\",
    "；，、｜•¦\u200b\u200c\u200d\u2060\ufeff",
)  # signs that join codes now and then, and those that always do
LISTED = ";,|_"  # signs that nobody looked for in labels that are a list
COMMA = re.compile(r",[^_\s]")
JOINS = re.compile(f"[{re.escape(SINGLE + WIDE + LISTED)}]")
ENOUGH = 0.2  # the share of labels in quotation marks that is no chance
WEIGHTED = re.compile(r"::[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?(?![\w.])")
SCORED = re.compile(r"([^:=(]+?)(:|=|_?\()-?\d?\.\d+\)?")  # a label and its weight, as in a file of scores
ONE_EACH = "write each label by itself, or one separator for all (--label_separator names it)"


def check_order(ids: Sequence[str], labels: Sequence[str], texts: Sequence[str], where: str) -> None:
    """Refuse columns of which another one than the last holds the texts.

    Args:
        ids: Those of documents, as the file has them; empty where it has none.
        labels: Of each document, as they are written.
        texts: Of each document.
        where: The file, for errors.

    Raises:
        DataError: The columns are in another order; the message holds none of their content.
    """
    if (of_ids := _words(ids)) >= RUNNING and of_ids > 3 * _words(texts):
        raise DataError("the first of three columns, for ids, seems to hold the texts", where=where, fix=FIX)
    codes = 0
    for word in (word for text in texts for word in BETWEEN.split(text) if word):
        if not is_code(word):  # most texts end here: all their words at once would take gigabytes
            return
        codes += 1
    if codes and _words(labels) >= RUNNING and sum(map(is_code, " ".join(labels).split())) < codes:
        raise DataError("the labels seem to be texts, and the texts codes", where=where, fix=FIX)


def _words(cells: Sequence[str]) -> float:
    """Return the words of a cell, on average."""
    return sum(len(cell.split()) for cell in cells) / max(1, len(cells))


logger = logging.getLogger(__name__)


def say_what_is_odd(texts: Sequence[str], labels: Sequence[Sequence[str]], where: str, columns: Columns) -> None:
    """Warn of texts and labels that say nothing, labels that seem to be ids, and a separator that no row has.

    Args:
        texts: Of the documents.
        labels: Of those that have some.
        where: The file.
        columns: What the user or training says of them.
    """
    if empty := sum(text.strip().lower() in NOTHING for text in texts):
        logger.warning(
            "%s: %s of %s texts are empty, or say only that they are", where, f"{empty:,}", f"{len(texts):,}"
        )
    if void := sum(label.lower() in NO_LABELS for each in labels for label in each):
        logger.warning("%s: %s labels are words such as `nan`, `none` or `and`: are they labels?", where, f"{void:,}")
    single = [each[0] for each in labels] if all(len(each) == 1 for each in labels) else []
    if len(single) > 2 and all(map(str.isdigit, single)):
        if len(set(single)) == len(single):
            logger.warning("%s: each label is a number that no other document has: are they ids?", where)
        elif set(single) == {"0", "1"}:
            logger.warning("%s: the only labels are 0 and 1: labels need names, and a column for all of them", where)
    elif len(single) > 1 and columns.after is None and (columns.separator or "").strip():
        logger.warning("%s: no document has two labels separated by %r", where, columns.separator)


def look_at(
    texts: Sequence[str], labels: Labels, ids: Sequence[str], where: str, *, named: bool, columns: Columns
) -> None:
    """Refuse what is of another shape than documents with labels, and say what is odd.

    Args:
        texts: Of the documents; each empty where nobody asks for them.
        labels: Theirs.
        ids: Theirs; empty where there are none.
        where: The file, for errors.
        named: Whether the columns have names.
        columns: What the user or training says of them.

    Raises:
        DataError: The message holds none of the content.
    """
    if any(texts):
        check_order(ids, list(map(" ".join, labels)), texts, where)
        _check_texts(texts, labels, where, named=named)
    check_shape(texts, labels, where, named=named)
    if (header := (columns.text, [str(columns.labels)])) in zip(texts, map(list, labels), strict=True):
        again = list(zip(texts, map(list, labels), strict=True)).index(header) + 1
        what = f"document {again} is a header again, as where files were put together"
        raise DataError(what, where=where, fix="take this line out")
    present = [each for each in labels if each]
    if len(present) > 1 and all(FLAGS.fullmatch(" ".join(each)) for each in present):
        what = "the labels are 0 and 1, or true and false: a place for each label of a list"
        raise DataError(what, where=where, fix="write the labels' names instead, separated by semicolons")
    if columns.separator is None:
        known = frozenset() if columns.after is None else columns.after.labels
        _check_names({label for each in labels for label in each}, known, where, named=named)
    if any(texts):
        say_what_is_odd(texts, present, where, columns)


def _check_texts(texts: Sequence[str], labels: Labels, where: str, *, named: bool) -> None:
    """Refuse a header, marked words, codes, JSON and labels where texts should be: a few rows tell them."""
    labels, full = labels[:LOOKED], texts[:LOOKED]
    texts = [text[:HEAD] for text in full]
    shown = [text.split() for text in texts if text.strip()]
    if not shown:
        return
    names = {label for each in labels for label in each}
    if not named and _names_columns(texts, labels):
        what = "the first line seems to be a header, which would be a document"
        raise DataError(what, where=f"{where}, line 1", fix="take this line out")
    if names and all(map(TAG.fullmatch, names)) and names != {"O"} and max(map(len, shown)) == 1:
        what = "each text is one word with its tag, as in files of marked words (CoNLL)"
        raise DataError(what, where=where, fix="give a document a line, with all its labels")
    if all(JSON.fullmatch(text) for text in full if text[:HEAD].strip()):
        raise DataError("the texts are JSON, not text", where=where, fix="take the text out of each, and write that")
    order = "name the columns" if named else "write labels TAB text"
    if len(shown) > 1 and all(ICD.fullmatch(word) for words in shown for word in words):
        raise DataError("the texts are codes", where=where, fix=f"give the texts themselves; {order}")
    words, of_labels = (sum(map(len, each)) / max(1, len(each)) for each in (shown, labels))
    plain = sum(not any(map(str.isdigit, name)) for name in names) > len(names) / 2
    repeated = len(set(texts)) <= len(texts) / 2 and words <= 3
    if repeated and plain and of_labels >= 4 and of_labels > 2 * words and len(names) > 2 * len(set(texts)):
        what = "columns seem to be swapped: many labels of each document, and the same few short texts"
        raise DataError(what, where=where, fix=order)


def _names_columns(texts: Sequence[str], labels: Labels) -> bool:
    """Tell whether the first of three or more lines has two words, unlike all texts and labels that follow."""
    if len(texts) < 3 or len(labels[0]) != 1 or not A_NAME.fullmatch(labels[0][0]):
        return False
    follow = [label for each in labels[1:] for label in each]
    words = [len(text.split()) for text in texts[1:]]
    unlike = bool(follow) and all(any(map(str.isdigit, label)) for label in follow)
    return unlike and A_NAME.fullmatch(texts[0]) is not None and min(words) >= 3


def _check_names(labels: Collection[str], known: Collection[str], where: str, *, named: bool) -> None:
    """Refuse labels that carry weights, quotation marks or brackets, or hold several."""
    weights = sum(WEIGHTED.search(label) is not None for label in labels)
    parts = [SCORED.fullmatch(part) for label in labels for part in label.split(",")]
    scored = all(parts) and len({part[1] for part in parts if part}) > 1
    if weights or scored:
        count = f"{weights:,} of {len(labels):,}" if weights else "all"
        raise DataError(f"labels with a weight: {count}", where=where, fix="write labels alone, or NUMBER::WEIGHT")
    new = [label for label in labels if label not in known]
    if (quoted := _are_quoted(new)) > ENOUGH * len(labels):
        what = f"labels in quotation marks or brackets, or that begin or end with one: {quoted:,}"
        raise DataError(what, where=where, fix=f"take them out; {ONE_EACH}; with a list in a cell, as JSON")
    joined = [label for label in new if _holds_several(label, labels)]
    commas = not named and len(labels) > 1 and len(new) == len(labels) and all(map(COMMA.search, labels))
    if joined or commas:
        share = len(joined) or len(labels)
        raise DataError(f"labels that seem to hold several, joined by a sign: {share:,}", where=where, fix=ONE_EACH)


def _are_quoted(labels: Collection[str]) -> int:
    """Count labels within quotation marks or brackets, and those between which a pair of them was torn."""
    if all(map(IN_BRACKETS.fullmatch, labels)):
        return len(labels)
    torn = sum(IN_QUOTES.fullmatch(label) is not None for label in labels)
    for begin, end in map(tuple, PAIRS):
        begun = sum(label.startswith(begin) and not label.endswith(end) for label in labels)
        ended = sum(label.endswith(end) and begin not in label[:-1] for label in labels)
        torn += begun + ended if begun and ended else 0
    return torn


def _holds_several(label: str, labels: Collection[str]) -> bool:
    """Tell whether a label is codes with a sign between them: of most signs only where one of them is a label too."""
    if not JOINS.search(label):
        return False
    for sign in SINGLE + WIDE + LISTED:
        parts = label.split(sign)
        if len(parts) > 1 and all(map(is_code, map(str.strip, parts))):
            return sign in WIDE or any(part in labels for part in parts) or (sign != "_" and sign in LISTED)
    return False
