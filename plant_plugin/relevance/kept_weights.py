"""Which of a label's weights are kept, of those that were solved label by label or taught.

Shapes: L labels, V terms.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from plant_plugin.relevance.ridge import LEAST, RidgeOptions


def prune(weights: sp.csr_array, options: RidgeOptions) -> sp.csr_array:
    """The stored entries of each row of weights (L, V) that are largest by absolute value, as many as options say."""
    pruned = weights.copy()
    for row in np.flatnonzero(np.diff(weights.indptr) > min(LEAST, options.top)).tolist():
        of_label = pruned.data[weights.indptr[row] : weights.indptr[row + 1]]
        order = np.argsort(-np.abs(of_label), kind="stable")
        squares = np.square(of_label[order[: options.top]]).cumsum()
        enough = int(np.searchsorted(squares, options.kept * squares[-1])) + 1
        of_label[order[min(max(LEAST, enough), options.top) :]] = 0
    pruned.eliminate_zeros()
    pruned.sort_indices()
    return pruned
