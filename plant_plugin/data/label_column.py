"""The separator of labels in a column of texts: one for a whole run, found by looking at all cells of training."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plant_plugin.data.label_separators import FLAG, LIST, SIGNS, SPACES, WEIGHT, LabelColumn, check_cells, one_label
from plant_plugin.errors import DataError

NUMBERS = re.compile(r"\d+(::[^,\s]+)?(,\d+(::[^,\s]+)?)*")  # a cell of PECOS: numbers of labels


@dataclass(frozen=True)
class Trained:
    """What training says about the labels of files that are read after it.

    Attributes:
        column: How labels that were one text were separated; None: they were lists, or only the labels are known.
        labels: Those that are trained on.
    """

    column: LabelColumn | None = None
    labels: frozenset[str] = frozenset()

    def knowing(self, labels: Iterable[str] | None) -> Trained:
        """Return the same, with more labels."""
        return Trained(self.column, self.labels.union(labels or ()))


def find_separator(
    cells: Iterable[str], where: str, *, by_spaces: bool = False, after: Trained | None = None
) -> LabelColumn:
    """Find how the labels of a column are separated: as those of training were, where that is known.

    A semicolon anywhere separates the whole column, else a bar, else a comma, else white space. PECOS' numbers, which
    commas join, are known by their form.

    Args:
        cells: Those of the whole column.
        where: The file, for errors.
        by_spaces: The format says that white space separates labels.
        after: What training says; None: this is the training file, or the only one.

    Raises:
        DataError: Two separators are mixed, a comma may be a part of a label, or labels are separated otherwise than
            those of training.
    """
    distinct = {stripped for cell in cells if (stripped := cell.strip())}
    trained = after or Trained()
    if trained.column is not None and trained.column.by_format == by_spaces:
        _check_alike(distinct, trained.column, where, by_spaces)
        column = trained.column
    else:
        column = _alone(distinct, by_spaces)
        if column.separator == SPACES:
            column = _with_blanks(distinct, trained.labels, column, where)
    if column.separator != LIST:
        check_cells(distinct, column, trained.labels, where, by_spaces)
    return column


def _alone(cells: Collection[str], by_spaces: bool) -> LabelColumn:
    """Return what cells say that come before all others."""
    if cells and all(cell[0] + cell[-1] == LIST for cell in cells):
        return LabelColumn(LIST, by_format=by_spaces)
    signs = [sign for sign in SIGNS if any(sign in cell for cell in cells)]
    numbers = signs == [","] and all(map(NUMBERS.fullmatch, cells))
    column = LabelColumn(signs[0] if signs and (numbers or not by_spaces) else SPACES, by_format=by_spaces)
    labels = {label for cell in cells for label in column.labels(cell)}
    weighted = bool(labels) and all(map(WEIGHT.search, labels))
    return LabelColumn(column.separator, weighted, by_spaces)


def _with_blanks(cells: Collection[str], known: Collection[str], column: LabelColumn, where: str) -> LabelColumn:
    """Return spaces, unless a label of training holds some: then each cell is one label."""
    whole = [cell.split() for cell in cells if one_label(cell) in known]
    several = [words for words in whole if len(words) > 1]
    as_words = sum(all(word in known for word in words) for words in several)
    if not several or (column.by_format and as_words == len(several)):
        return column
    if column.by_format or as_words:
        what = f"{len(several)} cells are a label of training if spaces are a part of labels, several if they separate"
        raise DataError(what, where=where, fix=FLAG)
    return LabelColumn(SIGNS[0])


def _check_alike(cells: Collection[str], column: LabelColumn, where: str, by_spaces: bool) -> None:
    """Refuse cells that are separated otherwise than those of training, all by the same sign."""
    alone = _alone(cells, by_spaces)
    there = any(len(cell.split()) > 1 if column.separator == SPACES else column.separator in cell for cell in cells)
    if LIST in (alone.separator, column.separator):
        differs = bool(cells) and alone.separator != column.separator
    else:
        everywhere = len(cells) > 1 and all(alone.separator in cell for cell in cells)
        differs = alone.separator not in (SPACES, column.separator) and everywhere and not there
    if differs or (alone.weighted and not column.weighted):
        here = f"here {str(alone).removeprefix('labels are ')}"
        raise DataError(f"{column} in training, {here}", where=where, fix="write both files alike")
