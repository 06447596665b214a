"""A compiled loop over labels of names; imported where it is needed, because numba takes a while."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def first_labels(labels, most):  # type: ignore[no-untyped-def]
    """Return the first ``most`` different labels of each row, of which those from -1 on are none; filled with -1."""
    first = np.full((len(labels), most), -1, labels.dtype)
    for row in range(len(labels)):
        count = 0
        for label in labels[row]:
            if label < 0 or count == most:
                break
            new = True
            for place in range(count):
                new &= first[row, place] != label
            if new:
                first[row, count] = label
                count += 1
    return first
