"""Sparse text files of the extreme classification repository.

First line ``documents features labels``; then a line per document, ``label,label feature:value feature:value``,
counted from 0; the label list may be empty. With two numbers in the first line (``documents columns``) a line holds
only pairs.

Source: http://manikvarma.org/downloads/XC/XMLRepository.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plant_plugin.data.text import Documents, text_lines
from plant_plugin.errors import DataError
from plant_plugin.files import LONGEST_LINE, above_limit, limit

HEADER = re.compile(r"(?:\xef\xbb\xbf)?(\d+)[ \t]+(\d+)[ \t]+(\d+)\s*")
PAIRS_HEADER = re.compile(r"(?:\xef\xbb\xbf)?(\d+)[ \t]+(\d+)\s*")


@dataclass
class XmcRow:
    """One document: its line in the file, label ids, and features with their values, as the file orders them."""

    line: int
    labels: list[int]
    features: list[int]
    values: list[float]


def has_header(path: Path) -> bool:
    """Tell whether the first line is that of a sparse file with labels and features."""
    return _first_line(path, HEADER) is not None


def xmc_header(path: Path, pattern: re.Pattern[str] = HEADER) -> tuple[int, ...]:
    """Read the numbers of the first line; a ``DataError`` where it holds something else."""
    numbers = _first_line(path, pattern)
    if numbers is None:
        wanted = "documents, features and labels" if pattern is HEADER else "documents and columns"
        fix = "take the file as it was downloaded; files without a first line like this are data_format: svm"
        raise DataError(f"the first line has to be the numbers of {wanted}", where=f"{path}, line 1", fix=fix)
    return tuple(map(int, numbers.groups()))


def _first_line(path: Path, pattern: re.Pattern[str]) -> re.Match[str] | None:
    with text_lines(path, encoding="latin-1") as stream:  # texts of any encoding are looked at, too
        return pattern.fullmatch(next(stream, ""))


def read_xmc(path: Path) -> Iterator[XmcRow]:
    """Yield the documents of a file with labels and features.

    Raises:
        DataError: A line is not of the format, an id is outside what the header says, or documents are missing or
            too many. Messages name the line.
    """
    documents, features, labels = xmc_header(path)
    for line, text in _numbered(path, documents):
        parts, where = text.split(), f"{path}, line {line}"
        label_ids = parts.pop(0).split(",") if parts and ":" not in parts[0] else []
        try:
            row = XmcRow(line, list(map(int, label_ids)), *_pairs(parts))
        except ValueError:  # its message would hold the line's content
            fix = "a line has to be 'label,label feature:value feature:value …'"
            raise DataError("not of the format", where=where, fix=fix) from None
        _check_ids(row.labels, labels, "label", where)
        _check_ids(row.features, features, "feature", where)
        yield row


def read_pairs(path: Path) -> Iterator[list[int]]:
    """Yield column ids of each line of a file with two numbers in its header (``trn_X_Y.txt``)."""
    documents, columns = xmc_header(path, PAIRS_HEADER)
    for line, text in _numbered(path, documents):
        where = f"{path}, line {line}"
        try:
            labels, _ = _pairs(text.split())
        except ValueError:  # its message would hold the line's content
            raise DataError("not of the format", where=where, fix="a line has to be 'label:1 label:1 …'") from None
        _check_ids(labels, columns, "label", where)
        yield labels


def read_filter(path: Path) -> Iterator[tuple[str, int, str]]:
    """Yield pairs of a document and the label that is itself or a copy of it, which no system has to find.

    Yields:
        The file and line, the document's number in its file, from 0, and the label.

    Raises:
        DataError: A line is not of the format.
    """
    with text_lines(path) as stream:
        for line, text in enumerate(stream, 1):
            where, parts = f"{path}, line {line}", text.split()
            if len(parts) != 2 or not (parts[0].isascii() and parts[0].isdigit()):
                raise DataError("not of the format", where=where, fix="a line has to be 'document label'")
            yield where, int(parts[0]), parts[1]


def _numbered(path: Path, documents: int) -> Iterator[tuple[int, str]]:
    number, fix = 1, "the file is cut off or joined from two; download it again"
    with text_lines(path) as stream:
        next(stream)
        for number, text in enumerate(stream, 2):
            if number - 1 > documents:
                if not text.strip() and not any(rest.strip() for rest in stream):
                    return
                raise DataError(f"more than the {documents:,} documents of the first line", where=str(path), fix=fix)
            yield number, text
    if number - 1 != documents:
        what = f"documents: {number - 1:,}, and the first line says {documents:,}"
        raise DataError(what, where=str(path), fix=fix)


def _pairs(parts: list[str]) -> tuple[list[int], list[float]]:
    pairs = [part.partition(":") for part in parts]
    return [int(name) for name, _, _ in pairs], [float(value) for _, _, value in pairs]


def _check_ids(ids: list[int], size: int, what: str, where: str) -> None:
    if ids and not (0 <= min(ids) and max(ids) < size):
        said = f"a {what} outside the {size:,} {what}s of the first line, which count from 0"
        fix = "correct the first line, or subtract one from every number if they count from 1"
        raise DataError(said, where=where, fix=fix)


def words_of_row(row: XmcRow, words: list[str]) -> str:
    """Write a bag of words as a text: each word as often as its value says where all are whole numbers.

    Raises:
        DataError: The text would fill the memory.
    """
    whole = all(value >= 1 and value.is_integer() for value in row.values)
    if whole and sum(row.values) > (most := limit(LONGEST_LINE)):
        raise above_limit(f"a document of more than {most:,} words", f"line {row.line}", "correct its values")
    times = (int(value) if whole else 1 for value in row.values)
    return " ".join(words[feature] for feature, number in zip(row.features, times, strict=True) for _ in range(number))


def read_words(path: Path, features: int, encoding: str = "utf-8-sig") -> list[str]:
    """Read the word of each feature, one a line; a ``DataError`` where there are more or fewer."""
    with text_lines(path, encoding=encoding) as stream:
        words = [line.strip() for line in stream]
    if len(words) != features:
        fix = "give the vocabulary of this data set, one word a line, in the order of the features"
        raise DataError(f"{len(words):,} words for {features:,} features", where=str(path), fix=fix)
    return words


def read_xmc_documents(path: Path, vocab_file: str | Path) -> Documents:
    """Read a sparse file as documents of its features' words; label ids are the labels."""
    words = read_words(Path(vocab_file), xmc_header(path)[1])
    documents = Documents()
    for row in read_xmc(path):
        documents.texts.append(words_of_row(row, words))
        documents.labels.append([str(label) for label in row.labels])
    return documents
