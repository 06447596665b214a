"""The planted prior where it is not zero: compiled loops that add it to a block of scores on a CPU.

Shape key: as in :mod:`.label_attention`, and **C** columns: the positions of a few documents, one after the other.
A label keeps relevance for a few percent of a batch's token types, so that going through these costs a fraction of
looking up and adding a dense (labels, C) block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit


class SparseTable(NamedTuple):
    """The relevance (L, U) of a batch's distinct token types, rows of a CSR matrix.

    Attributes:
        offsets: (L + 1,), where each label's entries begin.
        types: Token types, as columns of the table.
        values: Relevance, floating point.
        size: U.
    """

    offsets: npt.NDArray[np.integer]
    types: npt.NDArray[np.integer]
    values: npt.NDArray[np.floating]
    size: int


class Places(NamedTuple):
    """Where each token type stands among C columns: ``places[offsets[u]:offsets[u + 1]]``."""

    offsets: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]

    @classmethod
    def of(cls, columns: npt.NDArray[np.int64], size: int) -> Places:
        """From the token type (below ``size``) of each column."""
        offsets = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=size))]).astype(np.int64)
        return cls(offsets, np.argsort(columns, kind="stable"))


class BlockEntries(NamedTuple):
    """Where the relevance of a block of labels is not zero, and what it is there; found once for all heads."""

    rows: npt.NDArray[np.int32]  # label, from the block's first one
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.floating]


def entries_of(table: SparseTable, places: Places, labels: slice, columns: int) -> BlockEntries:
    """The entries of a run of labels at C columns."""
    return BlockEntries(*_entries(labels.start, labels.stop, columns, *table[:3], *places))


@njit(nogil=True, cache=True)
def _entries(start, stop, columns, offsets, types, values, place_offsets, places):  # type: ignore[no-untyped-def]
    room = (stop - start) * columns  # taken from the system only as far as it is written
    rows, where, found = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, values.dtype)
    number = 0
    for label in range(start, stop):
        for entry in range(offsets[label], offsets[label + 1]):
            first, last = place_offsets[types[entry]], place_offsets[types[entry] + 1]
            for place in range(first, last):
                rows[number], where[number], found[number] = label - start, places[place], values[entry]
                number += 1
    return rows[:number], where[:number], found[:number]


@njit(nogil=True, cache=True)
def add_prior(scores, strength, rows, columns, values):  # type: ignore[no-untyped-def]
    """Add strength (labels,) times relevance to the scores (labels, C) of a block, in place."""
    for entry in range(len(rows)):
        scores[rows[entry], columns[entry]] += strength[rows[entry]] * values[entry]


@njit(nogil=True, cache=True)
def add_strength_gradient(total, arriving, rows, columns, values):  # type: ignore[no-untyped-def]
    """Add to ``total`` (labels,) the sum over columns of ``arriving`` (labels, C) times relevance, in place."""
    for entry in range(len(rows)):
        total[rows[entry]] += arriving[rows[entry], columns[entry]] * values[entry]
