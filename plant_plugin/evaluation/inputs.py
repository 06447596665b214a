"""What the evaluation accepts as scores and truth, made uniform."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from plant_plugin.errors import PlantError
from plant_plugin.evaluation.ranking import BLOCK_ELEMENTS, Scores


def checked_truth(truth: Any) -> sp.csr_matrix:
    """A copy of the truth (B, L) with each true pair stored once as 1.0 and label ids in order."""
    matrix = sp.csr_matrix(truth, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data[:] = 1.0
    return matrix


def checked_scores(scores: Any, truth: sp.csr_matrix) -> Scores | sp.csr_matrix:
    """Scores as float32, dense or sparse as given.

    Args:
        scores: (B, L) logits or decision values. -inf means not scored; of a sparse matrix, only the stored entries
            are scored, also where they are 0.
        truth: (B, L).

    Raises:
        ValueError: The shapes differ.
        PlantError: NaN among the scores.
    """
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
    return scores


def dense_blocks(scores: Scores | sp.csr_matrix) -> Iterator[tuple[slice, Scores]]:
    """Documents and their dense scores, bounded blocks at a time; what a sparse matrix does not store becomes -inf."""
    if not sp.issparse(scores):
        yield slice(0, len(scores)), scores
        return
    num_documents, num_labels = scores.shape
    step = max(1, BLOCK_ELEMENTS // max(1, num_labels))
    for start in range(0, num_documents, step):
        part = scores[start : start + step]
        block = np.full(part.shape, -np.inf, dtype=np.float32)
        block[np.repeat(np.arange(part.shape[0]), np.diff(part.indptr)), part.indices] = part.data
        yield slice(start, start + step), block
