"""Batches of documents of similar length, with a true mask and sparse labels.

Shapes: B documents, T token positions, L labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from plant_plugin.data.token_arrays import TokenArrays

Places = npt.NDArray[np.int64]

CHUNK_BATCHES = 50  # batches drawn together and sorted by length: wide enough to save padding, narrow enough to mix


class FrozenStates(NamedTuple):
    """States of a split that no training changes."""

    states: npt.NDArray[np.int16]  # bits of bfloat16 numbers (positions, F), usually mapped from a file
    offsets: Places  # (N+1,); document i is states[offsets[i]:offsets[i + 1]], one position at least


class TokenMarks(NamedTuple):
    """Marks of single positions of a split for labels, beside those of their tokens."""

    matrix: sp.csr_array  # (positions, L) float32; the rows of document i are offsets[i] to offsets[i + 1]
    offsets: Places  # (N+1,), those of the token arrays


@dataclass(eq=False, repr=False)
class Batches:
    """An iterable over batches, usable as a data loader.

    Each batch is a dictionary of tensors: ``text`` (B, T) int64; ``length`` (B,) int64; ``mask`` (B, T) bool, true on
    real tokens; ``document`` (B,) int64, positions in the split; ``label_row`` and ``label_column`` (nnz,) int64, the
    places of the ones in the (B, L) label matrix. T is the longest document of the batch. With ``states`` also
    ``frozen`` (B, T, F) bfloat16, zero after a document's end. With marks also ``mark_place`` and ``mark_label``
    int64, ``mark_value`` float32, all (marks,): places in the flat (B·T), in order, label and value.
    With a shortlist also ``shortlist`` (B, S) int64: the labels of each document that a network is to score.

    A document without tokens gets one position that holds ``pad_id``, with length 1 and mask true, so that neither a
    softmax nor a packed sequence is ever empty.

    With ``shuffle`` the documents are mixed, cut into chunks of 50 batches, sorted by length within a chunk, and the
    batches mixed again; ``seed`` and the epoch decide everything. Without it the longest documents come first, equal
    lengths in file order, so that a lack of memory shows at once; ``document`` holds its place in the split.
    """

    arrays: TokenArrays  # of N documents
    labels: sp.csr_array  # (N, L)
    batch_size: int  # the last batch may be smaller
    pad_id: int
    shuffle: bool
    seed: int
    states: FrozenStates | None = None
    marks: TokenMarks | None = None
    shortlist: npt.NDArray[np.int32] | None = None  # (N, S) labels, ascending
    rows: Places | None = None  # the documents that are passed, ascending; None: all

    def __post_init__(self) -> None:
        self.epoch, self.start = 0, 0
        self._part, self._parts = 0, 1

    def take_part(self, part: int, parts: int) -> Batches:
        """Give one of several processes its batches: of each run of ``parts`` batches the one at ``part``.

        Together the processes see what a single one sees with ``parts`` times its ``accumulate``. Where the last run is
        too short a process gets a copy of the run's first batch, marked by ``surplus`` (B,) bool: it takes part in the
        step, but its documents do not count.
        """
        self._part, self._parts = part, parts
        return self

    def __len__(self) -> int:
        """Count batches of an epoch and process."""
        passed = len(self.arrays) if self.rows is None else len(self.rows)
        whole = -(-passed // self.batch_size)
        return -(-whole // self._parts)

    def set_epoch(self, epoch: int, start: int = 0) -> None:
        """Choose the order of the next pass, the same for the same epoch, and the batch that it starts with."""
        self.epoch, self.start = epoch, start

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        order = self.order()
        for first in range(self.start * self._parts, len(order), self._parts):
            place = first + self._part
            batch = self.batch(order[place if place < len(order) else first])
            if place >= len(order):
                batch["surplus"] = torch.ones(len(batch["document"]), dtype=torch.bool)
            yield batch

    def order(self) -> list[Places]:
        """Return the documents of each batch of the next pass, of all processes."""
        lengths = self.arrays.lengths
        rows = np.arange(len(lengths)) if self.rows is None else self.rows
        if not self.shuffle:
            return _cut(rows[np.argsort(-lengths[rows], kind="stable")], self.batch_size)
        random = np.random.default_rng([self.seed, self.epoch])
        mixed = rows[random.permutation(len(rows))]
        batches = [
            batch
            for chunk in _cut(mixed, self.batch_size * CHUNK_BATCHES)
            for batch in _cut(chunk[np.argsort(lengths[chunk], kind="stable")], self.batch_size)
        ]
        return [batches[place] for place in random.permutation(len(batches))]

    def positions(self, documents: Places) -> int:
        """Return B·T of a batch of these documents, padding included."""
        return len(documents) * max(int(self.arrays.lengths[documents].max()), 1)

    def largest(self) -> dict[str, Tensor]:
        """Return the batch of this pass that has most positions."""
        return self.batch(max(self.order(), key=self.positions))

    def batch(self, documents: Places) -> dict[str, Tensor]:
        """Return the batch of these documents."""
        places, lengths = gather(self.arrays.offsets, documents)
        longest = max(int(lengths.max()), 1)
        filled = np.arange(longest) < lengths[:, None]  # (B, T)
        text = np.full((len(documents), longest), self.pad_id, dtype=np.int64)
        text[filled] = self.arrays.ids[places]
        standing = np.flatnonzero(filled)
        filled[:, 0] = True  # the one position of a document without tokens
        labels = self.labels[documents]
        batch = {
            "text": text,
            "length": np.maximum(lengths, 1),
            "mask": filled,
            "document": documents.astype(np.int64),
            "label_row": np.repeat(np.arange(len(documents)), np.diff(labels.indptr)),
            "label_column": labels.indices.astype(np.int64),
        }
        if self.marks is not None:
            marks = self.marks.matrix[places]
            batch["mark_place"] = np.repeat(standing, np.diff(marks.indptr))
            batch["mark_label"] = marks.indices.astype(np.int64)
            batch["mark_value"] = marks.data
        if self.shortlist is not None:
            batch["shortlist"] = self.shortlist[documents].astype(np.int64)
        tensors = {name: torch.from_numpy(value) for name, value in batch.items()}
        if self.states is not None:
            tensors["frozen"] = _padded_states(self.states, documents, filled)
        return tensors


def _padded_states(known: FrozenStates, documents: Places, filled: npt.NDArray[np.bool_]) -> Tensor:
    places, _ = gather(known.offsets, documents)
    padded = np.zeros((*filled.shape, known.states.shape[1]), dtype=np.int16)
    padded[filled] = known.states[places]
    return torch.from_numpy(padded).view(torch.bfloat16)


def _cut(order: Places, size: int) -> list[Places]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def gather(offsets: npt.NDArray[np.integer], rows: Places) -> tuple[Places, Places]:
    """Return the places of all entries of the chosen rows, row after row, and how many each row has."""
    counts = (offsets[rows + 1] - offsets[rows]).astype(np.int64)
    ends = np.cumsum(counts)
    starts = np.repeat(offsets[rows] - (ends - counts), counts)
    return starts + np.arange(len(starts)), counts


def move(batch: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """Put a batch on another device."""
    return {name: value.to(device) for name, value in batch.items()}
