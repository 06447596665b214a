"""How the cells of a column of labels are read, each a text, and whether a column mixes two separators."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass, field

from plant_plugin.errors import DataError

SPACES = " "  # any white space
LIST = "[]"  # each cell is a list as JSON, Python or pandas writes it
NAMES = {";": "semicolons", "|": "bars", ",": "commas", "\t": "TABs", SPACES: "spaces", LIST: "brackets"}
# As PECOS writes it after a label; one of zero says that the label does not hold, so that all is left out.
WEIGHT = re.compile(r"(^.*::[-+]?(0+\.?0*|\.0+)|::[-+]?(\d+\.?\d*|\.\d+))([eE][-+]?\d+)?$")
BLANK = "_"  # what stands for white space in a label
SIGNS = ";|,\n\t"  # of several in a column the first one separates
CODE = re.compile(r"[\w.\-]*\d[\w.\-]*")
FLAG = "name the separator: --label_separator ';' (or ',', '|', ' ')"


def one_label(text: str) -> str:
    """Return a label as every file holds it: with ``_`` for white space, by which files separate labels."""
    return "_".join(text.split())


@dataclass(frozen=True)
class LabelColumn:
    """How the cells of a column are read.

    Attributes:
        separator: Some signs, a space for any white space, or ``[]`` for cells that are lists.
        weighted: Whether every label carries a weight, which is left out; one of zero with its label.
        by_format: Whether the format of the file says that white space separates, as LibMultiLabel's does.
    """

    separator: str = SPACES
    weighted: bool = False
    by_format: bool = field(default=False, compare=False)

    @property
    def said(self) -> str:
        """Return what is to be said of it: nothing where labels are separated as the format of the file says."""
        return "" if self.by_format and self == LabelColumn() else str(self)

    def labels(self, cell: str) -> list[str]:
        """Return the labels of a cell; white space inside one becomes ``_``.

        Raises:
            ValueError: The cell is no list where the others are.
        """
        if self.separator == LIST:
            parts = _items(cell)
        else:
            parts = cell.split() if self.separator == SPACES else cell.split(self.separator)
        if self.weighted:
            parts = [WEIGHT.sub("", part.strip()) for part in parts]
        return [label for part in parts if (label := one_label(part))]

    def __str__(self) -> str:
        """Say it in a few words, for a line on the screen."""
        if self.separator == LIST:
            return "labels are lists in brackets"
        name = NAMES.get(self.separator, repr(self.separator))
        return f"labels are separated by {name}" + (", their weights are left out" if self.weighted else "")


def _items(cell: str) -> list[str]:
    """Return the items of a list that is written as a text, as JSON and Python write it."""
    try:
        items = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        items = None
    if isinstance(items, list) and all(isinstance(item, str | int) for item in items) and "' '" not in cell:
        return [str(item) for item in items]
    raise ValueError("no list of labels")


def check_cells(
    cells: Collection[str], column: LabelColumn, known: Collection[str], where: str, by_spaces: bool
) -> None:
    """Refuse cells in which another separator than that of the column seems to be mixed in.

    Args:
        cells: Those of the whole column, each once.
        column: How they are separated.
        known: Labels of training, which are labels here too.
        where: The file, for errors.
        by_spaces: The format says that white space separates labels.

    Raises:
        DataError: A label seems to hold several, or a comma may be a part of a label.
    """
    if column.separator == "," and not by_spaces:
        _check_commas(cells, known, where)
    if column.weighted:
        return
    labels = {label for cell in cells for label in column.labels(cell)}
    every = labels.union(known)
    for sign in SIGNS:
        if sign != column.separator:
            strict = sign != "," and not by_spaces
            suspects = [label for label in labels if sign in label and label not in known]
            _check_mixed(suspects, sign, every, column, where, strict)
    if column.separator != SPACES:
        several = [label for label in labels if BLANK in label and all(map(is_code, label.split(BLANK)))]
        if several:
            raise _mixed(column, len(several), SPACES, where)


def _mixed(column: LabelColumn, count: int, sign: str, where: str) -> DataError:
    # Without these labels: where columns are swapped they would be a note's words.
    what = f"{column}, but labels ({count}) seem to hold several, separated by {NAMES[sign]}"
    return DataError(what, where=where, fix=FLAG)


def is_code(part: str) -> bool:
    """Tell whether it is a code as those of diseases are: `I10`, `E11.9`."""
    return len(part) > 2 and CODE.fullmatch(part) is not None


def _check_commas(cells: Collection[str], known: Collection[str], where: str) -> None:
    """Refuse commas that may belong to a label, as that of "neoplasms, benign" does."""
    parts = {part.strip() for cell in cells for part in cell.split(",")}
    loose = any(", " in cell for cell in cells)
    parts -= {part for part in parts if one_label(part) in known}
    if any(" " in part for part in parts) or (loose and not all(map(CODE.fullmatch, filter(None, parts)))):
        what = "commas and spaces in the labels: a comma may separate labels or belong to one"
        raise DataError(what, where=where, fix=f"{FLAG}; or write lists (JSON lines, Parquet)")


def _check_mixed(
    suspects: Collection[str], sign: str, labels: Collection[str], column: LabelColumn, where: str, strict: bool
) -> None:
    """Refuse labels that another separator, ``sign``, seems to join; ``strict``: any that holds it.

    Such a label ends in the sign, or has parts that are codes, or one that is a label too. Of parts that have a space
    between them, as in a title, all have to be labels.
    """
    for label in suspects:
        parts = [part.strip(BLANK) for part in label.split(sign)]
        known = [part in labels for part in parts if part]
        joined = all(known) if f"{sign}{BLANK}" in label else any(known)
        if strict or all(map(is_code, parts)) or not parts[-1] or (joined and len(known) > 1):
            raise _mixed(column, len(suspects), sign, where)
