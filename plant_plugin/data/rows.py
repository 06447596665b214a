"""A row of a file: the document that it is, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from plant_plugin.data.columns import Columns
from plant_plugin.data.label_separators import LabelColumn
from plant_plugin.data.text import AS_UTF8, is_valid, one_label
from plant_plugin.errors import DataError

NOT_UTF8 = DataError("not valid UTF-8", fix=AS_UTF8)
NOT_TEXT = DataError(
    "a NUL byte: this is no text, or UTF-16 without a mark", fix="save it as UTF-8, or name --encoding"
)

Cells = Mapping[str, object]


@dataclass
class Document:
    """A document as its file has it."""

    text: str = field(repr=False)
    labels: list[str] = field(default_factory=list, repr=False)
    id: str | None = None
    number: int = 1  # among all rows of its file
    cell: str | None = field(default=None, repr=False)  # labels as one text, before they are separated

    @property
    def name(self) -> str:
        """Return the id that its file gives it, else its number."""
        return str(self.number) if self.id is None else self.id


@dataclass
class Skipped:
    """Bad rows that were passed over: how many, where the first are, and what is wrong with the first."""

    count: int = 0
    lines: list[object] = field(default_factory=list)
    problem: DataError | None = None


def problem_of(text: str) -> DataError | None:
    """Tell what keeps characters from being a text."""
    if "\0" in text:
        return NOT_TEXT
    return None if is_valid(text) else NOT_UTF8


def checked(row: Document) -> Document | DataError:
    """Return the document, or what keeps its characters from being a text."""
    return problem_of(row.text) or problem_of("".join((*row.labels, row.cell or "", row.id or ""))) or row


def document_of(cells: Cells | DataError, columns: Columns) -> Document | DataError:
    """Return the document of a row of a table, or what is wrong with it."""
    if isinstance(cells, DataError):
        return cells
    try:
        columns.check(cells, "")
        text, labels = cells[columns.text], None if columns.labels is None else cells[columns.labels]
        cell = labels if isinstance(labels, str) else None
        listed = [] if cell is not None else _listed(labels, str(columns.labels))
        if not isinstance(text, str):
            what = f"the text under {columns.text!r} is {'empty' if text is None else f'a {type(text).__name__}'}"
            raise DataError(what, fix="give every document a text")
    except DataError as error:
        return error
    number = cells.get(columns.id)
    return checked(Document(text, listed, None if number is None else str(number), cell=cell))


def _listed(labels: object, column: str) -> list[str]:
    """Return the labels of a cell that holds no text."""
    if labels is None:
        return []
    if isinstance(labels, Sequence) and all(isinstance(label, str | int) for label in labels):
        return [joined for label in labels if (joined := one_label(str(label)))]
    fix = "a list of labels, or a text in which they are separated by one sign"
    raise DataError(f"the content of {column!r} is no labels", fix=fix)


def separated(row: Document, column: LabelColumn) -> Document | DataError:
    """Return the document with the labels that its cell holds."""
    try:
        row.labels = column.labels(row.cell or "")
    except ValueError:
        fix = "write labels with one separator, or JSON lines or Parquet, which have lists"
        return DataError("the labels are a list written as text that cannot be read", fix=fix)
    return row
