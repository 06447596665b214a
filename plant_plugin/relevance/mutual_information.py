"""The relevance of each token type for each label, from document counts of the training split (method §1).

Shapes: N training documents, L labels, V token types.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import WHOLE, ArrayFile
from plant_plugin.files import atomic_write

FORMAT_VERSION = 1
BLOCK_CELLS = 2_000_000  # (label, token type) cells that one worker holds at once
MAX_WORKERS = 8

Integers = npt.NDArray[np.int64]
Small = npt.NDArray[np.int32]
COMPRESSED = 1 << 28
Floats = npt.NDArray[np.float32]
Arrays = Mapping[str, npt.NDArray[Any]]  # for an ``.npz`` file


@dataclass
class Relevance:
    """Relevance of token types for labels."""

    matrix: sp.csr_array  # (L, V) float32 in [0, 1]; only the kept entries are stored, all above 0
    hashes: dict[str, str] = field(default_factory=dict)  # what made it, e.g. ``labels``, ``vocabulary``, ``options``

    def save(self, path: str | Path, **hashes: str) -> None:
        """Write an ``.npz`` file of plain arrays together with the hashes of what made it."""
        self.hashes = {**self.hashes, **hashes}
        content: dict[str, npt.ArrayLike] = {f"hash_{name}": np.array(value) for name, value in self.hashes.items()}
        content |= {
            "version": np.int64(FORMAT_VERSION),
            "data": self.matrix.data,
            "indices": self.matrix.indices.astype(np.int32, copy=False),
            "indptr": self.matrix.indptr.astype(np.int64),
            "shape": np.array(self.matrix.shape, dtype=np.int64),
        }
        write_arrays(Path(path), content)

    @classmethod
    def load(
        cls, path: str | Path, expect: dict[str, str] | None = None, shape: tuple[int, int] | None = None
    ) -> Relevance:
        """Read what :meth:`save` wrote; hashes in ``expect`` and, where it is known, the shape (L, V) must agree.

        Raises:
            CheckpointError: The file is missing or torn, or was made for something else; both sides are named.
        """
        stored = ArrayFile.read(Path(path), "relevance", fix="remove it and run again: it is made anew")
        if (version := stored.whole("version")) != FORMAT_VERSION:
            raise CheckpointError(f"format {version}, expected {FORMAT_VERSION}", where=str(path))
        labels, types = stored.array("shape", WHOLE, (2,), low=0, high=np.iinfo(np.int32).max).tolist()
        if shape not in (None, (labels, types)):
            stored.wrong("shape", f"is {labels:,} × {types:,}, of another label set or vocabulary")
        matrix = stored.rows(("data", "indices", "indptr"), (labels, types), kinds="f", ordered=True)
        of_hashes = stored.under("hash_")
        hashes = {name: of_hashes.text(name) for name in of_hashes.arrays}
        for name, wanted in (expect or {}).items():
            if hashes.get(name) != wanted:
                what = f"made for {name} {str(hashes.get(name))[:12]}, but {name} here is {wanted[:12]}"
                fix = "use the run folder of the same data and configuration, or remove the file"
                raise CheckpointError(what, where=str(path), fix=fix)
        return cls(matrix, hashes)


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an ``.npz`` file, whole or not at all; compressed up to ``COMPRESSED`` bytes: more would take minutes."""
    write = np.savez_compressed if sum(np.asarray(each).nbytes for each in arrays.values()) <= COMPRESSED else np.savez
    with atomic_write(path) as temporary, open(temporary, "wb") as stream:
        write(stream, **arrays)


def compute_relevance(
    arrays: TokenArrays,
    labels: sp.csr_array,
    vocabulary_size: int,
    special_ids: Iterable[int],
    options: RelevanceOptions,
    *,
    workers: int | None = None,
) -> Relevance:
    """Relevance of every token type for every label, exactly, block by block of labels.

    ``measure: mig`` is the mutual information, in nats, between "the document has the label" and "the document holds
    the token": r = Σ P(x,y)·ln(P(x,y) / (P(x)·P(y))) over the four cells, where a zero cell adds 0. With
    ``association: positive`` only pairs with n_lt·N > n_l·n_t are kept, with ``any`` also tokens that avoid the label.

    ``measure: term_frequency`` counts the token's occurrences in the label's documents; ``association`` does not apply
    to it. Both are divided by the label's highest value, but for mutual information with ``unit: nats``.

    Args:
        arrays: Token ids of the N training documents, and of no others.
        labels: Their labels, sparse (N, L) of ones.
        vocabulary_size: V.
        special_ids: Padding, unknown and other ids that never carry relevance.
        options: Measure, association, and how many token types a label keeps (``top``; ties go to the lower token
            id).
        workers: Threads; None for one per processor, at most 8. The result does not depend on it.

    Returns:
        The kept values, all above 0. A label that no training document has, or every one, keeps none.

    Raises:
        ValueError: ``arrays`` and ``labels`` differ in length.

    Source: PLANT's mutual information gain; the sign filter is ours, the measure being blind to it.
    """
    workers = workers or min(os.cpu_count() or 1, MAX_WORKERS)
    counts = count_documents(arrays, labels, vocabulary_size, special_ids, options)
    every = options.measure == "mig" and options.association == "any"  # tokens that avoid the label count
    parts = blocks_of(np.full_like(counts.cells, vocabulary_size) if every else counts.cells, BLOCK_CELLS)

    def block(part: slice) -> sp.csr_array:
        return values_of(counts.table(part), part, counts.margins, options)

    with ThreadPoolExecutor(workers) as pool:
        nothing = sp.csr_array((0, vocabulary_size), dtype=np.float32)  # there may be no label
        return Relevance(sp.csr_array(sp.vstack([nothing, *pool.map(block, parts)], format="csr")))


class Margins(NamedTuple):
    """The counts that every pair is measured against."""

    documents: int  # N
    label_documents: Integers  # n_l, (L,)
    token_documents: Integers  # n_t, (V,); 0 for special ids


@dataclass(frozen=True)
class Counts:
    """The counts that all blocks of labels share."""

    margins: Margins
    labels: sp.csr_array  # (L, N): each label's documents
    offsets: Integers  # (N+1,): where each document's tokens begin
    tokens: Small  # its distinct token types, or (term_frequency) all its tokens; no special ids

    @cached_property
    def cells(self) -> Integers:
        """Entries that each label's row of the table has at most, (L,)."""
        before = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[self.labels.indices])])
        return np.minimum(np.diff(before[self.labels.indptr]), len(self.margins.token_documents))

    def table(self, part: slice) -> sp.csr_array:
        """n_lt of a run of labels where it is above 0, (labels, V) int32."""
        from plant_plugin.relevance.counts import count_pairs

        starts = self.labels.indptr[part.start : part.stop + 1].astype(np.int64)
        documents = self.labels.indices[starts[0] : starts[-1]]
        size, room = len(self.margins.token_documents), int(self.cells[part].sum())
        offsets, tokens, counts = count_pairs(starts - starts[0], documents, self.offsets, self.tokens, size, room)
        return sp.csr_array((counts, tokens, narrow(offsets)), shape=(len(offsets) - 1, size))


def count_documents(
    arrays: TokenArrays,
    labels: sp.csr_array,
    vocabulary_size: int,
    special_ids: Iterable[int],
    options: RelevanceOptions,
) -> Counts:
    """Count for these documents what all blocks of labels share; see :func:`compute_relevance`."""
    if len(arrays) != labels.shape[0]:
        raise ValueError(f"{len(arrays)} documents but {labels.shape[0]} rows of labels")
    from plant_plugin.relevance.counts import distinct_tokens  # compiled, which a prediction need not wait for

    special = np.zeros(vocabulary_size, dtype=bool)
    special[list(special_ids)] = True
    token_documents = np.zeros(vocabulary_size, dtype=np.int64)
    out = np.empty(len(arrays.ids), np.int32)
    occurrences = options.measure == "term_frequency"
    offsets = distinct_tokens(arrays.ids, arrays.offsets, special, occurrences, out, token_documents)
    by_label = sp.csr_array(labels.T, copy=True)
    by_label.sum_duplicates()
    by_label.indices = by_label.indices.astype(np.int32, copy=False)
    label_documents = np.diff(by_label.indptr).astype(np.int64)
    margins = Margins(len(arrays), label_documents, token_documents)
    return Counts(margins, by_label, offsets, out[: offsets[-1]])


def blocks_of(cells: Integers, limit: int) -> list[slice]:
    """Runs of labels whose tables together have about ``limit`` cells at most (one label at least)."""
    number = np.cumsum(cells) // limit
    starts = [0, *(np.flatnonzero(np.diff(number)) + 1), len(cells)] if len(cells) else []
    return [slice(int(start), int(stop)) for start, stop in pairwise(starts)]


def values_of(table: sp.csr_array, part: slice, margins: Margins, options: RelevanceOptions) -> sp.csr_array:
    """The kept values (labels, V) of a run of labels, float32."""
    from plant_plugin.relevance.counts import kept_values

    information = options.measure == "mig"
    offsets, tokens, values = kept_values(
        table.indptr, table.indices, table.data, margins.label_documents[part], margins.token_documents,
        margins.documents, not information, information and options.association == "any",
        information and options.unit == "nats", options.top,
    )  # fmt: skip
    return sp.csr_array((values, tokens, narrow(offsets)), shape=table.shape)


def narrow(offsets: Integers) -> npt.NDArray[np.integer]:
    """A CSR matrix's offsets in four bytes each where they suffice: scipy makes columns as wide."""
    return offsets.astype(np.int32) if offsets[-1] <= np.iinfo(np.int32).max else offsets
