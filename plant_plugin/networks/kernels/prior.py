"""The planted prior: the relevance (L, V) as a network reads it, batch by batch, and its part in a block of scores.

Shape key: as in :mod:`.label_attention`, and **V** token types, **C** columns: the positions of a few documents, one
after the other. A label keeps relevance for a few percent of a batch's token types, so that on a CPU compiled loops go
through these: that costs a fraction of looking up and adding a dense (labels, C) block.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

# Above so many labels the chosen ones are read from rows of labels. Up to it a batch's table of all labels is made,
# which costs little and is mostly needed whole.
ROWS_ABOVE = 30_000


class SparseTable:
    """The relevance (L, U) of a batch's distinct token types where it is not zero, label by label and type by type.

    ``make`` returns it by types (U, L) and is called when it is first needed. ``chosen`` returns the rows (M, U) of
    labels (M,) without it, so that the cost of a few labels does not grow with the number of all.
    """

    def __init__(
        self,
        make: Callable[[], sparse.csr_matrix],
        chosen: Callable[[npt.NDArray[np.int64]], sparse.csr_matrix] | None = None,
    ) -> None:
        self._make, self._chosen = make, chosen

    @cached_property
    def by_type(self) -> sparse.csc_matrix:
        """Return the table (L, U), the labels of a type in ascending order."""
        return self._make().T

    @cached_property
    def by_label(self) -> sparse.csr_matrix:
        """Return the table (L, U), label by label."""
        return self.by_type.tocsr()

    def of(self, labels: npt.NDArray[np.int64]) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return rows of labels of any shape, and the row's number of each label."""
        if self._chosen is None:
            return self.by_label, labels
        distinct, rows = np.unique(labels, return_inverse=True)
        return self._chosen(distinct), rows.reshape(labels.shape)


class PriorLookup(NamedTuple):
    """Relevance of the batch's tokens, kept once per distinct token type."""

    table: Tensor | None  # (L, U) relevance r of each label for each distinct token type; None: it is in `entries`
    columns: Tensor  # (B, T) int64, the column of the table that belongs to each position
    entries: SparseTable | None = None  # the table where it is not zero, in its place; on CPUs
    # (B, T) int64, a second column of the table for each position, whose relevance is added: that of the marks there,
    # whatever the token is. A position without a mark has a column of zeros. None: nothing is marked.
    marks: Tensor | None = None

    def dense(self) -> Tensor:
        """Return the table (L, U) written out."""
        if self.entries is not None:
            return torch.from_numpy(self.entries.by_label.toarray())
        assert self.table is not None
        return self.table

    def everywhere(self) -> Tensor:
        """Return the relevance (L, B, T) of all labels at every position, written out."""
        table = self.dense()
        first, *further = (table[:, columns] for columns in self.all_columns())
        return sum(further, first)

    def all_columns(self) -> list[Tensor]:
        """Return the table's columns of each position (B, T): one, or two where anything is marked."""
        return [self.columns] if self.marks is None else [self.columns, self.marks]

    def at(self, document: int, labels: Tensor) -> PriorLookup:
        """Return the lookup of chosen labels (M,) in one document."""
        row = slice(document, document + 1)
        columns, marks = self.columns[row], None if self.marks is None else self.marks[row]
        if self.entries is not None:
            table, row_of_label = self.entries.of(labels.numpy())
            rows = table[row_of_label]
            return PriorLookup(None, columns, SparseTable(lambda: rows.tocsc().T), marks)
        return PriorLookup(self.dense()[labels], columns, None, marks)

    def of_labels(self, labels: Tensor) -> Tensor:
        """Return the relevance (B, M, T) at every position of chosen labels (B, M), chosen document by document."""
        if self.entries is None:
            return torch.stack([self.at(document, chosen).everywhere()[:, 0] for document, chosen in enumerate(labels)])
        from plant_plugin.networks.kernels.compiled import relevance_at

        rows, index = self.entries.of(labels.numpy())
        parts = rows.indptr, rows.indices, rows.data, rows.shape[1]
        relevance = [relevance_at(index, columns.numpy(), *parts) for columns in self.all_columns()]
        return torch.from_numpy(sum(relevance[1:], relevance[0]))


class PlantedRelevance:
    """Sparse relevance (L, V) in [0, 1] of labels for token types, looked up batch by batch."""

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self._by_label: sparse.csr_matrix | None = None
        if self.shape[0] > ROWS_ABOVE:
            self._by_label = sparse.csr_matrix(matrix, dtype=np.float32)
        else:
            self._by_token = _turned(matrix)

    @cached_property
    def _by_token(self) -> sparse.csr_matrix:
        """Return the relevance (V, L), whose rows of tokens make the table of all labels."""
        assert self._by_label is not None
        return _turned(self._by_label)

    def lookup(self, text: Tensor, marks: tuple[Tensor, Tensor, Tensor] | None = None) -> PriorLookup:
        """Return the relevance, float32, of every label for the distinct token types of a batch's ``text`` (B, T).

        On a CPU the table (L, U) holds what is not zero, elsewhere it is dense and on the device of ``text``. Marks add
        to the relevance at single positions: their places in the flat (B·T), in order, labels and values. Each marked
        position has a further column of its own.
        """
        distinct, index = torch.unique(text, return_inverse=True)
        types = distinct.cpu().numpy()
        marked_rows, second = None, None
        if marks is not None:
            marked_rows, second = _columns_of_marks(marks, (len(types), self.shape[0]), text)

        def rows() -> sparse.csr_matrix:
            of_types = self._by_token[types]
            return of_types if marked_rows is None else sparse.vstack([of_types, marked_rows], format="csr")

        if text.device.type == "cpu":
            chosen = None if self._by_label is None else _rows_of(self._by_label, types, marked_rows)
            return PriorLookup(None, index, SparseTable(rows, chosen), second)
        # Fortran order of (U, L) is C order of (L, U): the layout that blocks of labels slice
        table = torch.from_numpy(rows().toarray(order="F").T)
        return PriorLookup(table.to(text.device), index, None, second)


def _turned(matrix: sparse.csr_array | sparse.csr_matrix) -> sparse.csr_matrix:
    turned = sparse.csr_matrix(matrix.T, dtype=np.float32)
    turned.sort_indices()
    return turned


def _rows_of(
    by_label: sparse.csr_matrix, types: npt.NDArray[np.int64], marked_rows: sparse.csr_matrix | None
) -> Callable[[npt.NDArray[np.int64]], sparse.csr_matrix]:
    """Return a function from labels to rows of ``by_label`` (L, V), cut to ``types`` (U,), which ascend.

    The columns of marks come after those of the types.
    """
    place = np.full(by_label.shape[1], -1, np.int32)
    place[types] = np.arange(len(types), dtype=np.int32)

    def chosen(labels: npt.NDArray[np.int64]) -> sparse.csr_matrix:
        rows = by_label[labels]
        columns = place[rows.indices]
        here = columns >= 0
        offsets = np.concatenate([[0], here.cumsum()])[rows.indptr]
        parts = rows.data[here], columns[here], offsets
        cut = sparse.csr_matrix(parts, shape=(len(labels), len(types)))
        return cut if marked_rows is None else sparse.hstack([cut, marked_rows[:, labels].T], format="csr")

    return chosen


def _columns_of_marks(
    marks: tuple[Tensor, Tensor, Tensor], shape: tuple[int, int], text: Tensor
) -> tuple[sparse.csr_matrix, Tensor]:
    """Return the rows that marks add to ``shape`` (U, L), the last row empty, and the row of each position (B, T)."""
    places, labels, values = (part.cpu().numpy() for part in marks)
    marked, row = np.unique(places, return_inverse=True)
    rows = sparse.csr_matrix((values, (row, labels)), shape=(len(marked) + 1, shape[1]), dtype=np.float32)
    second = torch.full_like(text, shape[0] + len(marked))
    second.view(-1)[torch.from_numpy(marked).to(text.device)] = torch.arange(len(marked), device=text.device) + shape[0]
    return rows, second


class Places(NamedTuple):
    """Places of each token type u among C columns: ``places[offsets[u]:offsets[u + 1]]``."""

    offsets: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]

    @classmethod
    def of(cls, *columns: npt.NDArray[np.int64], size: int) -> Places:
        """Sort columns by their token types, below ``size``; further arguments hold further types of each column."""
        types = np.concatenate(columns)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(types, minlength=size))]).astype(np.int64)
        return cls(offsets, np.argsort(types, kind="stable") % max(1, len(columns[0])))


class BlockEntries(NamedTuple):
    """Places and values of a block of labels' relevance where it is not zero; looked up once for all heads."""

    rows: npt.NDArray[np.int32]  # label, from the block's first one
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.floating]


def room_for(table: SparseTable, labels: int, columns: int) -> BlockEntries:
    """Reserve memory for the entries of a block of that size; the system gives it only as far as it is written."""
    size = labels * columns
    return BlockEntries(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, table.by_label.dtype))


def entries_of(table: SparseTable, places: Places, labels: slice, room: BlockEntries) -> BlockEntries:
    """Write the entries of a run of labels into ``room`` (:func:`room_for`) and return them."""
    from plant_plugin.networks.kernels.compiled import block_entries

    types = table.by_type
    parts = types.indptr, types.indices, types.data  # the types that a document holds are fewer than those of a label
    number = block_entries(labels.start, labels.stop, *parts, *places, *room)
    return BlockEntries(room.rows[:number], room.columns[:number], room.values[:number])
