"""Lines of scores as programs of extreme classification write them, and labels that they give by number.

- LibMultiLabel and Parabel: ``label:score label:score``; Parabel's first line is ``documents labels``.
- Omikuji: ``label score TAB label score``.

These programs, and PECOS in its matrices, know labels by their number, from 0: the line of the label file, or the
column of the labels that they learned from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from plant_plugin.data.text import one_label, text_lines
from plant_plugin.errors import DataError

NUMBER = re.compile(r"0|[1-9]\d*", re.ASCII)
HEADER = re.compile(r"\s*(\d+)[ \t]+(\d+)\s*", re.ASCII)
WITH_TABS = re.compile(r"\S+ [-+.\deE]+(\t\S+ [-+.\deE]+)*\s*", re.ASCII)
BY_NUMBER = "labels of the scores are taken for numbers, from 0, of lines of the label file"
BY_NAME = "labels of the scores are taken for names, though they could be lines of the label file: --scores-by number"
SORTED = "columns of the scores are taken for the labels in their order as texts; --label-file names another"
BY_COLUMN = "columns of the scores are taken for the labels of their numbers, from 0"

Line = tuple[int, list[tuple[str, str]]]  # its number in the file, from 1; labels with scores


def scored_lines(lines: Iterator[str], path: Path) -> Iterator[Line]:
    """Yield the pairs of label and score of each document; the first line says how all are written.

    Raises:
        DataError: There are more or fewer documents, or other labels, than a first line of their numbers says.
    """
    header, tabs, documents = None, None, 0
    for number, line in enumerate(lines, 1):
        if number == 1 and (header := HEADER.fullmatch(line)):
            continue
        if tabs is None and line.strip():
            tabs = bool(WITH_TABS.fullmatch(line))
        documents += 1
        pairs = _pairs(line, bool(tabs))
        if header and any(not NUMBER.fullmatch(label) or int(label) >= int(header[2]) for label, _ in pairs):
            what = f"something that is no number of one of {header[2]} labels, which the first line says there are"
            raise DataError(what, where=f"{path}, line {number}", fix="take the file as it was written")
        yield number, pairs
    if header and documents != int(header[1]):
        what = f"{documents:,} documents, the first line says {int(header[1]):,}"
        raise DataError(what, where=str(path), fix="the file is cut off; write it again")


def _pairs(line: str, tabs: bool) -> list[tuple[str, str]]:
    """Return what stands before and after what separates a label from its score: the last colon, or a space."""
    cells = line.strip("\r\n\t ").split("\t") if tabs else line.split()
    parts = (cell.rpartition(" " if tabs else ":") for cell in cells if cell)
    return [(label, score) for label, _, score in parts]


def label_columns(path: Path) -> list[str]:
    """Read the label of each column, one a line; of a table, such as ``label_names.tsv``, what is before the TAB."""
    with text_lines(path, newline=None) as stream:
        names = [one_label(line.split("\t")[0]) for line in stream]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise DataError("the label file holds no label", where=str(path), fix="one label a line")
    return names


def labels_of_scores(
    width: int,
    named: Sequence[str] | None,
    columns: Sequence[str] | None,
    known: Collection[str],
    by: str | None,
    *,
    where: str,
) -> tuple[list[str], list[str], str | None]:
    """Return the label of each column of the scores, the label set, sorted, and what to say of it.

    Args:
        width: Columns of the scores.
        named: Their labels as a file of lines has them; None: a matrix.
        columns: Lines of the label file.
        known: Labels of the truth and of training.
        by: What labels of lines are; see :func:`named_labels`.
        where: The file, for errors.

    Raises:
        DataError: It is not clear what the labels of the scores are.
    """
    known = set(known if columns is None else filter(None, columns))
    if named is not None:
        of_columns, note = named_labels(named, columns, known, by, where=where)
    elif columns is None:
        of_columns, note = matrix_labels(width, sorted(known), where=where)
    else:
        of_columns, note = [name for name in dict.fromkeys(columns) if name], None
    return of_columns, sorted(known.union(of_columns) if columns is None else known), note


def named_labels(
    names: Sequence[str],
    columns: Sequence[str] | None,
    known: Collection[str],
    by: str | None,
    *,
    where: str,
) -> tuple[list[str], str | None]:
    """Return the labels that a file of lines means, and what to say of it.

    Args:
        names: As the file has them.
        columns: Lines of the label file.
        known: The label set.
        by: ``name`` or ``number``; None: by number where all are numbers and none is a label.
        where: The file, for errors.

    Raises:
        DataError: They are numbers without a label file, or beyond it; or they may be both.
    """
    numbers = bool(names) and all(map(NUMBER.fullmatch, names))
    of_set = sum(name in known for name in names)
    if by == "number" and not numbers:
        raise DataError("labels that are no numbers", where=where, fix="leave out --scores-by number")
    if by == "name" or not numbers:
        return list(names), None
    highest = max(map(int, names))
    if columns is None:
        if by is None and (of_set or all(map(NUMBER.fullmatch, known))):
            return list(names), None
        what = "labels are numbers, and none of them is a label of the truth"
        fix = "name the lines that they number, from 0, with --label-file"
        raise DataError(what if by is None else "labels by number, without their lines", where=where, fix=fix)
    fits = highest < len(columns)
    if by is None and of_set == len(names):
        differ = fits and any(columns[int(name)] != name for name in names)
        return list(names), BY_NAME if differ else None
    if by is None and of_set:
        if not fits:
            return list(names), None  # numbers beyond the set are left out, and counted
        what = f"{of_set:,} of {len(names):,} numbers are labels, and all could be lines of the label file"
        raise DataError(what, where=where, fix="say which: --scores-by name or --scores-by number")
    if not fits:
        what = f"label {highest}, and the label file has {len(columns):,} lines, counted from 0"
        raise DataError(what, where=where, fix="give the label file of the data that they were trained on")
    check_columns(columns)
    return [columns[int(name)] for name in names], BY_NUMBER


def check_columns(columns: Sequence[str]) -> None:
    """Raise a ``DataError`` where a label has no name or the name of another: what their numbers mean is lost."""
    seen = set[str]()
    for number, name in enumerate(columns, 1):
        if not name or name in seen:
            what = "an empty line" if not name else "a label that another line has too"
            fix = "labels by number need a name of their own, one a line"
            raise DataError(what, where=f"--label-file, line {number}", fix=fix)
        seen.add(name)


def matrix_labels(width: int, labels: Sequence[str], *, where: str) -> tuple[list[str], str | None]:
    """Return the label of each column of a matrix without a label file, and what to say of it.

    Args:
        width: The number of columns.
        labels: Sorted, those that are known.
        where: The file, for errors.

    Raises:
        DataError: The labels are the numbers of the columns, and sorted as texts they are in another order.
    """
    if not labels or not all(map(NUMBER.fullmatch, labels)) or max(map(int, labels)) >= width:
        return list(labels), SORTED
    numbers = [str(column) for column in range(width)]
    if len(labels) == width and list(labels) != numbers:
        what = "columns may be in the order of their numbers (0, 1, 2, …, 10) or of their names (0, 1, 10, …, 2)"
        raise DataError(what, where=where, fix="--label-file has to hold the label of each column, one a line")
    return numbers, BY_COLUMN if len(labels) < width else None
