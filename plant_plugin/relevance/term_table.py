"""The weights of a linear model by term, and the scores that they give to texts.

A text's scores are the sum of its terms' rows. The few frequent terms of a text have a weight of many labels, most of
all that is added: they are kept as dense rows. Of all other terms the rows are taken and added where they belong, for
as many texts at once as a processor's cache holds. scipy's own product of two sparse matrices goes through everything
twice, first to count the entries of the result.

Shapes: B texts, V terms, L labels, F frequent terms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats

FREQUENT = 1 / 4  # of the labels that have a weight of a term: a dense row then takes twice the memory at most
HELD = 2**18  # weights, or scores, that are held at once, about


class TermTable(NamedTuple):
    """The weights, float32."""

    frequent: sp.csr_array  # (V, F) a one for each frequent term
    of_frequent: Floats  # (F, L) their weights
    of_others: sp.csr_array  # (V, L) those of all others

    @classmethod
    def of(cls, weights: sp.csr_array) -> TermTable:
        """The table of the weights (L, V) of a linear model."""
        by_term = sp.csr_array(weights.T)
        labels_of = np.diff(by_term.indptr)
        frequent = labels_of >= FREQUENT * weights.shape[0]
        columns = np.flatnonzero(frequent)
        ones = np.ones(len(columns), np.float32), (columns, np.arange(len(columns)))
        dense = by_term[columns].toarray()
        by_term.data[np.repeat(frequent, labels_of)] = 0
        by_term.eliminate_zeros()
        return cls(sp.csr_array(ones, shape=(len(frequent), len(columns))), dense, by_term)

    def scores(self, rows: sp.csr_array) -> Floats:
        """Return the scores (B, L) of texts, given their terms (B, V) in float32; each as if it were the only one."""
        texts, labels = rows.shape[0], self.of_others.shape[1]
        scores: Floats = (rows @ self.frequent) @ self.of_frequent
        added = int(np.diff(self.of_others.indptr)[rows.indices].sum(dtype=np.int64))
        step = max(1, HELD * texts // max(added, texts * labels, 1))
        first = np.arange(step, dtype=np.int32) * np.int32(labels)  # where the scores of each text begin
        for start in range(0, texts, step):
            part, offsets = scores[start : start + step], rows.indptr[start : start + step + 1]
            terms = slice(offsets[0], offsets[-1])
            taken = self.of_others[rows.indices[terms]]
            places = taken.indices + np.repeat(first[: len(part)], np.diff(taken.indptr[offsets - offsets[0]]))
            moved = sp.csc_array((taken.data, places, taken.indptr), shape=(part.size, taken.shape[0]))
            part += (moved @ rows.data[terms]).reshape(part.shape)
        return scores
