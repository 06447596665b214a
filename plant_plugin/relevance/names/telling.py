"""The stems by which a name is looked for: of names that a text holds enough of it has one of these.

Shapes: M names, V stems.

Source: Chaudhuri, Ganti & Kaushik 2006, "A Primitive Operator for Similarity Joins in Data Cleaning" (prefix filter).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats

ALMOST = 0.999  # of a share: sums are rounded


def telling(
    matrix: sp.csr_array, idf: Floats, total: Floats, least: float
) -> tuple[sp.csr_array, sp.csr_array, Floats]:
    """Return the names (V, M) that are looked for by each stem, each name's others, (M, V), and what those tell, (M,).

    The others are those stems of ``matrix`` (M, V) that tell least of a name, as many as hold less than the share
    ``least`` of its ``total`` (M,) together. What holds only such ones holds less than that.
    """
    names = np.repeat(np.arange(len(total)), np.diff(matrix.indptr))
    order = np.lexsort((idf[matrix.indices], names))
    sums = np.cumsum(idf[matrix.indices[order]], dtype=np.float64)
    before = np.concatenate([[0], sums])[matrix.indptr[:-1]]
    others = matrix.copy()
    others.data[order] = sums - before[names] < ALMOST * least * total[names]
    first = sp.csr_array((matrix - others).T)
    for part in (first, others):
        part.eliminate_zeros()
    return first, others, others @ idf
