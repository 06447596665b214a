"""The labels that may score highest for a text, found without a score of every label.

A linear model's weights turned to terms are an inverted index: a text visits what its terms have. Nearly all labels
have a weight of each frequent term, so that all of it makes a dense row. Kept are of every term the ``KEPT`` largest
weights, those above 0: what a text visits then no longer grows with labels. What these rank highest are candidates,
whose scores are then made of all their weights, exactly.

Source: Carmel et al. 2001, "Static Index Pruning for Information Retrieval Systems" (of each term the best so many).

Shapes: B texts, L labels, V terms, C candidates of a text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats, Small

# Chosen on a made-up set of 32,000 labels: 99.5 % of the exact 100 best labels are found, of the 10 best all, from a
# fifteenth of the weights (benchmarks/TRIALS.md).
KEPT = 1000  # weights of a term
CANDIDATES = 4  # times the labels that are wanted
PRUNED_ABOVE = 30_000  # labels: of fewer a dense row of all costs about as little, and nothing is left out


class PrunedIndex(NamedTuple):
    """Labels and weights of each term, in the order of a heap: rows of a CSR matrix (V, L)."""

    offsets: npt.NDArray[np.int64]
    labels: Small
    weights: Floats

    @classmethod
    def of(cls, weights: sp.csr_array) -> PrunedIndex:
        """The index of the weights (L, V) of a linear model."""
        from plant_plugin.relevance.index_kernels import count_above_0, keep_of_terms

        table = weights.indptr, weights.indices, weights.data
        above = count_above_0(*table[1:], weights.shape[1])
        offsets = np.concatenate([[0], np.minimum(above, KEPT).cumsum()])
        labels, largest = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32)
        keep_of_terms(*table, offsets, labels, largest)
        return cls(offsets, labels, largest)

    def candidates(self, rows: sp.csr_array, weights: sp.csr_array, count: int) -> tuple[Small, Floats]:
        """``CANDIDATES`` · ``count`` labels of each text, ascending, and their scores; (B, min(that, L)) both.

        ``rows`` (B, V) are features of the texts, ``weights`` (L, V) the model. A text whose terms have fewer labels
        in the index is given the first others. Scores are equal to those of the whole product but for rounding.
        """
        from plant_plugin.relevance.index_kernels import rank_labels

        shape = rows.shape[0], min(CANDIDATES * count, weights.shape[0])
        labels, scores = np.empty(shape, np.int32), np.empty(shape, np.float32)
        table = rows.indptr, rows.indices, rows.data
        rank_labels(*table, *self, weights.indptr, weights.indices, weights.data, weights.shape[1], labels, scores)
        return labels, scores

    def highest_others(self, rows: sp.csr_array, weights: sp.csr_array, left_out: sp.csr_array, count: int) -> Small:
        """Return the ``count`` highest candidates, (B, count); −1 in place of those ``left_out`` or not above 0."""
        labels, scores = self.candidates(rows, weights, count)
        best = np.argpartition(-scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
        chosen, high = (np.take_along_axis(of, best, axis=1) for of in (labels, scores))
        row = np.repeat(np.arange(len(chosen), dtype=np.int64), np.diff(left_out.indptr))
        places = np.arange(len(chosen), dtype=np.int64)[:, None] * left_out.shape[1] + chosen
        mine = np.isin(places, row * left_out.shape[1] + left_out.indices)
        return np.where(mine | (high <= 0), np.int32(-1), chosen)
