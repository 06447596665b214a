"""Scores and truth as the evaluation accepts them, and all scores of a split on disk, read back label by label."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import PlantError
from plant_plugin.evaluation.ranking import Integers, Scores, blocks, rows_of

Matrix = npt.NDArray[np.number] | sp.csr_matrix | sp.csr_array  # scores or truth, as callers have them


def checked(scores: Matrix, truth: Matrix) -> tuple[Scores | sp.csr_matrix, sp.csr_matrix]:
    """Make a batch of scores and truth (B, L) uniform.

    Returns:
        Scores as float32, dense or sparse as given: -inf is not scored, and of a sparse matrix only the stored entries
        are scored, also where they are 0. A copy of the truth with each true pair stored once as 1.0, label ids in
        order.

    Raises:
        ValueError: The shapes differ.
        PlantError: NaN among the scores.
    """
    true = sp.csr_matrix(truth, dtype=np.float32, copy=True)
    true.sum_duplicates()
    true.eliminate_zeros()
    true.data[:] = 1.0
    uniform: Scores | sp.csr_matrix
    if sp.issparse(scores):
        uniform = sp.csr_matrix(scores, dtype=np.float32, copy=True)
        uniform.sort_indices()
    else:
        uniform = np.asarray(scores, np.float32)
    if uniform.shape != true.shape:
        raise ValueError(f"scores have shape {uniform.shape} and truth {true.shape}")
    values = uniform.data if sp.issparse(uniform) else uniform
    if values.size and np.isnan(values.max()):  # the maximum carries a NaN along, without another array of this size
        what = "the network's scores are not numbers (NaN), so nothing can be evaluated"
        raise PlantError(what, fix="training has diverged: lower the learning rate, or train with precision 32")
    return uniform, true


def without(
    scores: Scores | sp.csr_matrix, truth: sp.csr_matrix, removed: sp.csr_matrix
) -> tuple[Scores | sp.csr_matrix, sp.csr_matrix]:
    """Take the pairs that ``removed`` (B, L) stores out of scores and truth of a batch as ``checked`` returns it."""
    gone = rows_of(removed) * removed.shape[1] + removed.indices
    truth.data[np.isin(rows_of(truth) * truth.shape[1] + truth.indices, gone)] = 0
    truth.eliminate_zeros()
    if sp.issparse(scores):
        scores.data[np.isin(rows_of(scores) * scores.shape[1] + scores.indices, gone)] = -np.inf
    else:
        scores = scores.copy()  # it may be the caller's
        scores[rows_of(removed), removed.indices] = -np.inf
    return scores, truth


class ScoreStore:
    """Scores (N, L) appended row by row to a temporary file of 4·N·L bytes, and the truth beside them in memory.

    The file has no name, so that nothing is left even if the process is killed. It lies in ``folder``, or where
    the system keeps temporary files.

    Raises:
        PlantError: The folder cannot be written, or the disk is full.
    """

    def __init__(self, num_labels: int, folder: Path | None = None) -> None:
        self.num_labels = num_labels
        self.num_documents = 0
        self._where = str(folder or tempfile.gettempdir())
        self._truth: list[sp.csr_matrix] = []
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Give the disk space back."""
        with contextlib.suppress(OSError):  # on a full disk, the last rows are still waiting to be written
            self._file.close()

    def append(self, scores: Scores | sp.csr_matrix, truth: sp.csr_matrix) -> None:
        """Add a batch as ``checked`` returns it."""
        try:
            for block in dense_blocks(scores):
                self._file.write(np.ascontiguousarray(block, dtype=np.float32).data)
            self._file.flush()
        except OSError as error:
            raise self._error(error) from error
        self.num_documents += truth.shape[0]
        self._truth.append(truth)

    def documents(self) -> Integers:
        """Count the documents that have each label, int64 (L,)."""
        return np.diff(self._by_label().indptr).astype(np.int64)

    def blocks(self) -> Iterator[tuple[int, Scores, list[tuple[int, Integers]]]]:
        """Yield labels, bounded blocks of them at a time.

        Yields:
            First label of the block; its scores (labels in the block, N); place in the block and true documents of each
            label that has any.
        """
        truth = self._by_label()
        documents = np.split(truth.indices.astype(np.int64), truth.indptr[1:-1])
        for labels in blocks(self.num_labels, self.num_documents):
            true = [(place, of_label) for place, of_label in enumerate(documents[labels]) if len(of_label)]
            yield labels.start, self._columns(labels), true

    def true_scores(self) -> Scores:
        """Return the scores of all true pairs, label after label."""
        parts = [block[place, documents] for _, block, true in self.blocks() for place, documents in true]
        return np.concatenate(parts or [np.empty(0, np.float32)])

    def _by_label(self) -> sp.csc_matrix:
        return sp.csc_matrix(sp.vstack(self._truth, format="csr"))

    def _columns(self, labels: slice) -> Scores:
        block = np.empty((labels.stop - labels.start, self.num_documents), dtype=np.float32)
        for part in blocks(self.num_documents, self.num_labels):
            # A mapping of few rows at a time: mapped pages count as resident memory until it goes.
            shape, offset = (part.stop - part.start, self.num_labels), 4 * part.start * self.num_labels
            rows = np.memmap(self._file, dtype=np.float32, mode="r", offset=offset, shape=shape)
            block[:, part] = rows[:, labels].T
        return block

    def _error(self, error: OSError) -> PlantError:
        return PlantError(
            f"the scores cannot be kept on disk ({error.strerror or error})",
            where=self._where,
            fix="free some space there, or leave out AUC-macro and AUC-micro",
        )


def dense_blocks(scores: Scores | sp.csr_matrix) -> Iterator[Scores]:
    """Yield dense scores, bounded blocks of documents at a time; what a sparse matrix does not store becomes -inf."""
    if not sp.issparse(scores):
        yield scores
        return
    for rows in blocks(*scores.shape):
        part = scores[rows]
        block = np.full(part.shape, -np.inf, np.float32)
        block[rows_of(part), part.indices] = part.data
        yield block
