"""Sorting inside compiled loops: numpy's own there take processor seconds to compile, these a part of it.

Source: Williams 1964, "Algorithm 232: Heapsort".
"""

import numpy as np
from numba import njit

ROOT = np.int64(0)  # a literal 0 would compile what takes it once more


@njit(nogil=True, cache=True)
def sift(heap, place, room):  # type: ignore[no-untyped-def]
    """Let the value at a place of a heap, the largest on top, sink to where it belongs among the first ``room``."""
    value = heap[place]
    while 2 * place + 1 < room:
        below = 2 * place + 1
        below += below + 1 < room and heap[below + 1] > heap[below]
        if heap[below] <= value:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = value


@njit(nogil=True, cache=True)
def sort(values):  # type: ignore[no-untyped-def]
    """Sort values (N,) in ascending order, in place."""
    for place in range(len(values) // 2 - 1, -1, -1):
        sift(values, place, len(values))
    for last in range(len(values) - 1, 0, -1):
        values[0], values[last] = values[last], values[0]
        sift(values, ROOT, last)


@njit(nogil=True, cache=True)
def nth_largest(values, most):  # type: ignore[no-untyped-def]
    """Return the n-th largest absolute value of (N,) values, 0 < n <= N: the least of a heap that keeps so many."""
    heap = np.empty(most, values.dtype)
    for place in range(most):
        heap[place] = -abs(values[place])  # so that the least of those that are kept is on top
    for place in range(most // 2 - 1, -1, -1):
        sift(heap, place, most)
    for place in range(most, len(values)):
        size = -abs(values[place])
        if size < heap[0]:
            heap[0] = size
            sift(heap, ROOT, most)
    return -heap[0]
