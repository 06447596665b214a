"""The compiled walk through :mod:`.trees`; imported where it is needed, because numba takes a while."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def sum_of_trees(values, features, thresholds, left, right, leaves, roots):  # type: ignore[no-untyped-def]
    """Sum the leaves (T trees, one after the other) that each row of ``values`` (N, F) ends in."""
    deep, depth = np.zeros(len(left), np.int32), 0
    nodes = np.empty(2 * len(left), np.uint32)  # of an index without a sign nobody asks whether it is below 0
    for node in range(len(left)):  # children come later
        leaf = left[node] < 0  # which leads to itself, so that every walk has as many steps
        nodes[2 * node], nodes[2 * node + 1] = (node, node) if leaf else (left[node], right[node])
        if not leaf:
            deep[left[node]] = deep[right[node]] = deep[node] + 1
            depth = max(depth, deep[node] + 1)
    sums = np.zeros(len(values), np.float64)
    for row in range(len(values)):
        of_row = values[row]
        for tree in range(len(roots)):
            node = np.uint64(roots[tree])
            for _ in range(depth):
                right_of_it = np.uint64(of_row[np.uint64(features[node])] > thresholds[node])
                node = np.uint64(nodes[np.uint64(2) * node + right_of_it])
            sums[row] += leaves[node]
    return sums
