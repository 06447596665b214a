"""Sparse weights in a file: values of 16 bits, and of each column how far it lies from the one before.

These steps are small and alike, so that a compressed file takes one byte for each instead of four; values, whose last
bits are zero, take little more. A file of before holds the columns themselves, and values of 32 bits.

Shapes: L labels, V terms.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.arrays import WHOLE, ArrayFile, cuts

NAMES = "data", "indices", "offsets"
STEPS = "steps"


def packed(weights: sp.csr_array) -> dict[str, npt.ArrayLike]:
    """Return the arrays for :func:`unpacked`, of weights (L, V) that 16 bits hold."""
    weights.sort_indices()
    steps = np.diff(weights.indices, prepend=0)
    first = weights.indptr[:-1][np.diff(weights.indptr) > 0]
    steps[first] = weights.indices[first]
    narrowest = np.min_scalar_type(steps.max(initial=0))
    return {"data": weights.data.astype(np.float16), STEPS: steps.astype(narrowest), "offsets": weights.indptr}


def unpacked(arrays: ArrayFile, shape: tuple[int, int]) -> sp.csr_array:
    """Return weights (L, V) in CSR, float32.

    Raises:
        CheckpointError: An array is missing, or no part of such a matrix.
    """
    if STEPS in arrays:
        offsets = arrays.array("offsets", WHOLE, (shape[0] + 1,), low=0)
        steps = arrays.array(STEPS, WHOLE, (None,), low=0, high=shape[1] - 1)
        if not cuts(offsets, len(steps)):
            arrays.wrong("offsets", f"does not cut {len(steps):,} entries into rows")
        reached = np.concatenate([[0], np.cumsum(steps, dtype=np.int64)])
        columns = reached[1:] - np.repeat(reached[offsets[:-1]], np.diff(offsets))
        columns = columns if columns.max(initial=0) >= shape[1] else columns.astype(np.int32)
        arrays = replace(arrays, arrays={**arrays.arrays, "indices": columns})
    return arrays.rows(NAMES, shape, kinds="f")
