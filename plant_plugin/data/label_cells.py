"""How the cells of a column of labels are read, each a text."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

SPACES = " "  # any white space
LIST = "[]"  # each cell is a list as JSON, Python or pandas writes it
NAMES = {";": "semicolons", "|": "bars", ",": "commas", "\t": "TABs", SPACES: "spaces", LIST: "brackets"}
# As PECOS writes it after a label; one of zero says that the label does not hold, so that all is left out.
WEIGHT = re.compile(r"(^.*::[-+]?(0+\.?0*|\.0+)|::[-+]?(\d+\.?\d*|\.\d+))([eE][-+]?\d+)?$")


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
