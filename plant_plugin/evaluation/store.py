"""What the evaluation accepts as scores and truth, and all scores of a split on disk, read back label by label."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from plant_plugin.errors import PlantError
from plant_plugin.evaluation.ranking import BLOCK_ELEMENTS, Integers, Scores


def checked(scores: Any, truth: Any) -> tuple[Scores | sp.csr_matrix, sp.csr_matrix]:
    """A batch of scores and truth, made uniform.

    Args:
        scores: (B, L) logits or decision values. -inf means not scored; of a sparse matrix, only the stored entries
            are scored, also where they are 0.
        truth: (B, L), sparse or dense.

    Returns:
        Scores as float32, dense or sparse as given; a copy of the truth with each true pair stored once as 1.0 and
        label ids in order.

    Raises:
        ValueError: The shapes differ.
        PlantError: NaN among the scores.
    """
    truth = sp.csr_matrix(truth, dtype=np.float32, copy=True)
    truth.sum_duplicates()
    truth.eliminate_zeros()
    truth.data[:] = 1.0
    sparse = sp.issparse(scores)
    if sparse:
        scores = sp.csr_matrix(scores, dtype=np.float32, copy=True)
        scores.sort_indices()
    else:
        scores = np.asarray(scores, dtype=np.float32)
    if scores.shape != truth.shape:
        raise ValueError(f"scores have shape {scores.shape} and truth {truth.shape}")
    values = scores.data if sparse else scores
    if values.size and np.isnan(values.max()):  # the maximum carries a NaN along, without another array of this size
        raise PlantError(
            "the network's scores are not numbers (NaN), so nothing can be evaluated",
            fix="training has diverged: lower the learning rate, or train with precision 32",
        )
    return scores, truth


class ScoreStore:
    """Scores (N, L) appended row by row to a nameless temporary file, and the truth beside them in memory.

    What needs every score costs disk, not memory. The file has no name, so that nothing is left behind even if the
    process is killed.

    Args:
        num_labels: L.
        folder: Where the file is made; None for the system's temporary folder. It grows to 4·N·L bytes.

    Raises:
        PlantError: The folder cannot be written, or the disk is full.
    """

    def __init__(self, num_labels: int, folder: str | os.PathLike[str] | None = None) -> None:
        self.num_labels = num_labels
        self.num_documents = 0
        self._where = str(folder or tempfile.gettempdir())
        self._truth: list[sp.csr_matrix] = []
        try:
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Give the disk space back."""
        with contextlib.suppress(OSError):  # on a full disk, the last rows are still waiting to be written
            self._file.close()

    def append(self, scores: Scores | sp.csr_matrix, truth: sp.csr_matrix) -> None:
        """Add a batch of scores (B, L) and its truth (B, L), as ``checked`` returns them."""
        try:
            for block in _dense_blocks(scores):
                self._file.write(np.ascontiguousarray(block, dtype=np.float32).data)
            self._file.flush()
        except OSError as error:
            raise self._error(error) from error
        self.num_documents += truth.shape[0]
        self._truth.append(truth)

    def documents(self) -> Integers:
        """How many documents have each label, int64 (L,)."""
        return np.diff(self._by_label().indptr).astype(np.int64)

    def blocks(self) -> Iterator[tuple[int, Scores, list[tuple[int, Integers]]]]:
        """Labels, bounded blocks of them at a time.

        Yields:
            First label of the block; its scores (labels in the block, N); place in the block and true documents of each
            label that has any.
        """
        truth = self._by_label()
        documents = truth.indices.astype(np.int64)
        width = max(1, BLOCK_ELEMENTS // max(1, self.num_documents))
        for start in range(0, self.num_labels, width):
            stop = min(start + width, self.num_labels)
            ends = truth.indptr[start : stop + 1]
            with_true = np.flatnonzero(np.diff(ends)).tolist()
            true = [(place, documents[ends[place] : ends[place + 1]]) for place in with_true]
            yield start, self._columns(start, stop), true

    def true_scores(self) -> Scores:
        """The scores of all true pairs, label after label."""
        found = [block[place, documents] for _, block, true in self.blocks() for place, documents in true]
        return np.concatenate(found or [np.empty(0, np.float32)])

    def _by_label(self) -> sp.csc_matrix:
        return sp.csc_matrix(sp.vstack(self._truth, format="csr"))

    def _columns(self, start: int, stop: int) -> Scores:
        block = np.empty((stop - start, self.num_documents), dtype=np.float32)
        step = max(1, BLOCK_ELEMENTS // self.num_labels)
        for first in range(0, self.num_documents, step):
            count = min(step, self.num_documents - first)
            # A mapping of few rows at a time: mapped pages count as resident memory until it goes.
            shape, offset = (count, self.num_labels), 4 * first * self.num_labels
            rows = np.memmap(self._file, dtype=np.float32, mode="r", offset=offset, shape=shape)
            block[:, first : first + count] = rows[:, start:stop].T
        return block

    def _error(self, error: OSError) -> PlantError:
        return PlantError(
            f"the scores cannot be kept on disk ({error.strerror or error})",
            where=self._where,
            fix="free some space there, or leave out AUC-macro and AUC-micro",
        )


def _dense_blocks(scores: Scores | sp.csr_matrix) -> Iterator[Scores]:
    """Dense scores, bounded blocks of documents at a time; what a sparse matrix does not store becomes -inf."""
    if not sp.issparse(scores):
        yield scores
        return
    step = max(1, BLOCK_ELEMENTS // max(1, scores.shape[1]))
    for start in range(0, scores.shape[0], step):
        part = scores[start : start + step]
        block = np.full(part.shape, -np.inf, dtype=np.float32)
        block[np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices] = part.data
        yield block
