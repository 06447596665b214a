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

# Labels, of more than which the few that are asked for are read from rows of labels. Of fewer the table of all is made
# for a batch, which costs little and is mostly wanted whole.
ROWS_ABOVE = 30_000


class SparseTable:
    """The relevance (L, U) of a batch's distinct token types where it is not zero, label by label and type by type.

    ``make`` gives it by types (U, L), once it is asked for. With ``chosen`` the rows (M, U) of labels (M,) are had
    without it, so that what a few of very many labels cost does not grow with their number.
    """

    def __init__(
        self,
        make: Callable[[], sparse.csr_matrix],
        chosen: Callable[[npt.NDArray[np.int64]], sparse.csr_matrix] | None = None,
    ) -> None:
        self._make, self._chosen = make, chosen

    @cached_property
    def by_type(self) -> sparse.csc_matrix:
        """(L, U), the labels of a type in ascending order."""
        return self._make().T

    @cached_property
    def by_label(self) -> sparse.csr_matrix:
        """(L, U)."""
        return self.by_type.tocsr()

    def of(self, labels: npt.NDArray[np.int64]) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Rows that labels of any shape have, and which row is whose."""
        if self._chosen is None:
            return self.by_label, labels
        distinct, rows = np.unique(labels, return_inverse=True)
        return self._chosen(distinct), rows.reshape(labels.shape)


class PriorLookup(NamedTuple):
    """Relevance of the batch's tokens, kept once per distinct token type."""

    table: Tensor | None  # (L, U) relevance r of each label for each distinct token type; None: it is in `entries`
    columns: Tensor  # (B, T) int64, the column of the table that belongs to each position
    entries: SparseTable | None = None  # the table where it is not zero, in its place; on CPUs
    # (B, T) int64, a second column of the table for each position, whose relevance is added: what is marked there,
    # whatever the token. A column of zeros where nothing is. None: nothing is marked.
    marks: Tensor | None = None

    def dense(self) -> Tensor:
        """The table (L, U) written out."""
        if self.entries is not None:
            return torch.from_numpy(self.entries.by_label.toarray())
        assert self.table is not None
        return self.table

    def written_out(self, kind: torch.dtype) -> PriorLookup:
        """The same as a dense table of a type."""
        return self._replace(table=self.dense().to(kind), entries=None)

    def everywhere(self) -> Tensor:
        """Relevance (L, B, T) of all labels at every position, written out."""
        table = self.dense()
        first, *further = (table[:, columns] for columns in self.all_columns())
        return sum(further, first)

    def all_columns(self) -> list[Tensor]:
        """Columns of the table whose relevance each position (B, T) has: one, or two where anything is marked."""
        return [self.columns] if self.marks is None else [self.columns, self.marks]

    def at(self, document: int, labels: Tensor) -> PriorLookup:
        """The same of chosen labels (M,) for one document."""
        one = slice(document, document + 1)
        columns, marks = self.columns[one], None if self.marks is None else self.marks[one]
        if self.entries is not None:
            table, own = self.entries.of(labels.numpy())
            rows = table[own]
            return PriorLookup(None, columns, SparseTable(lambda: rows.tocsc().T), marks)
        return PriorLookup(self.dense()[labels], columns, None, marks)

    def of_labels(self, labels: Tensor) -> Tensor:
        """Relevance (B, M, T) of chosen labels (B, M), each document its own, at every position."""
        if self.entries is None:
            return torch.stack([self.at(document, own).everywhere()[:, 0] for document, own in enumerate(labels)])
        from plant_plugin.networks.kernels.compiled import relevance_at

        rows, own = self.entries.of(labels.numpy())
        parts = rows.indptr, rows.indices, rows.data, rows.shape[1]
        found = [relevance_at(own, columns.numpy(), *parts) for columns in self.all_columns()]
        return torch.from_numpy(sum(found[1:], found[0]))


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
        """(V, L): the table of all labels is made of rows of tokens."""
        assert self._by_label is not None
        return _turned(self._by_label)

    def lookup(self, text: Tensor, marks: tuple[Tensor, Tensor, Tensor] | None = None) -> PriorLookup:
        """Relevance, float32, of every label for the distinct token types of a batch's ``text`` (B, T).

        On a CPU that is the table (L, U) where it is not zero, else a dense one on the device of ``text``. Marks are
        what is added to the relevance at single positions: their places in the flat (B·T), in order, labels and values.
        Each marked position has a column more of its own.
        """
        found, index = torch.unique(text, return_inverse=True)
        types = found.cpu().numpy()
        own, second = None, None
        if marks is not None:
            own, second = _columns_of_marks(marks, (len(types), self.shape[0]), text)

        def rows() -> sparse.csr_matrix:
            of_types = self._by_token[types]
            return of_types if own is None else sparse.vstack([of_types, own], format="csr")

        if text.device.type == "cpu":
            chosen = None if self._by_label is None else _rows_of(self._by_label, types, own)
            return PriorLookup(None, index, SparseTable(rows, chosen), second)
        # Fortran order of (U, L) is C order of (L, U): the layout that blocks of labels slice
        table = torch.from_numpy(rows().toarray(order="F").T)
        return PriorLookup(table.to(text.device), index, None, second)


def _turned(matrix: sparse.csr_array | sparse.csr_matrix) -> sparse.csr_matrix:
    turned = sparse.csr_matrix(matrix.T, dtype=np.float32)
    turned.sort_indices()
    return turned


def _rows_of(
    by_label: sparse.csr_matrix, types: npt.NDArray[np.int64], own: sparse.csr_matrix | None
) -> Callable[[npt.NDArray[np.int64]], sparse.csr_matrix]:
    """What gives rows of ``by_label`` (L, V), cut to ``types`` (U,) ascending, with the columns of marks behind."""
    place = np.full(by_label.shape[1], -1, np.int32)
    place[types] = np.arange(len(types), dtype=np.int32)

    def chosen(labels: npt.NDArray[np.int64]) -> sparse.csr_matrix:
        rows = by_label[labels]
        columns = place[rows.indices]
        here = columns >= 0
        offsets = np.concatenate([[0], here.cumsum()])[rows.indptr]
        parts = rows.data[here], columns[here], offsets
        found = sparse.csr_matrix(parts, shape=(len(labels), len(types)))
        return found if own is None else sparse.hstack([found, own[:, labels].T], format="csr")

    return chosen


def _columns_of_marks(
    marks: tuple[Tensor, Tensor, Tensor], shape: tuple[int, int], text: Tensor
) -> tuple[sparse.csr_matrix, Tensor]:
    """The rows that marks add to ``shape`` (U, L), the last one empty, and which row each position (B, T) has."""
    places, labels, values = (part.cpu().numpy() for part in marks)
    marked, row = np.unique(places, return_inverse=True)
    rows = sparse.csr_matrix((values, (row, labels)), shape=(len(marked) + 1, shape[1]), dtype=np.float32)
    second = torch.full_like(text, shape[0] + len(marked))
    second.view(-1)[torch.from_numpy(marked).to(text.device)] = torch.arange(len(marked), device=text.device) + shape[0]
    return rows, second


class Places(NamedTuple):
    """Where each token type stands among C columns: ``places[offsets[u]:offsets[u + 1]]``."""

    offsets: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]

    @classmethod
    def of(cls, *columns: npt.NDArray[np.int64], size: int) -> Places:
        """From the token types (below ``size``) of the columns, each of which may have further ones."""
        types = np.concatenate(columns)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(types, minlength=size))]).astype(np.int64)
        return cls(offsets, np.argsort(types, kind="stable") % max(1, len(columns[0])))


class BlockEntries(NamedTuple):
    """Where the relevance of a block of labels is not zero, and what it is there; found once for all heads."""

    rows: npt.NDArray[np.int32]  # label, from the block's first one
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.floating]

    def add_to(self, scores: Tensor, strength: Tensor) -> None:
        """Add strength (labels,) times relevance to the scores (labels, C) of the block, in place."""
        from plant_plugin.networks.kernels.compiled import add_prior

        add_prior(scores.numpy(), strength.numpy(), *self)

    def add_strength_gradient(self, total: Tensor, arriving: Tensor) -> None:
        """Add to ``total`` (labels,) the sum over columns of ``arriving`` (labels, C) times relevance, in place."""
        from plant_plugin.networks.kernels.compiled import add_strength_gradient

        add_strength_gradient(total.numpy(), arriving.numpy(), *self)


def room_for(table: SparseTable, labels: int, columns: int) -> BlockEntries:
    """Memory for the entries of a block of that size; taken from the system only as far as it is written."""
    size = labels * columns
    return BlockEntries(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, table.by_label.dtype))


def entries_of(table: SparseTable, places: Places, labels: slice, room: BlockEntries) -> BlockEntries:
    """The entries of a run of labels, written into ``room`` (:func:`room_for`)."""
    from plant_plugin.networks.kernels.compiled import block_entries

    types = table.by_type
    parts = types.indptr, types.indices, types.data  # the types that a document holds are fewer than those of a label
    number = block_entries(labels.start, labels.stop, *parts, *places, *room)
    return BlockEntries(room.rows[:number], room.columns[:number], room.values[:number])
