"""The compiled loop of :mod:`.nearest`; imported where it is needed, because numba takes a while.

Shapes: S spans, M names, D numbers of a vector, P cells that are looked at for a span.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _product(first, second):  # type: ignore[no-untyped-def]
    product = np.int32(0)
    for number in range(len(first)):  # a length that the compiler knew would make this several times slower
        product += np.int32(first[number]) * np.int32(second[number])
    return product


@njit(nogil=True, cache=True)
def nearest_in_cells(spans, cells, offsets, vectors, places):  # type: ignore[no-untyped-def]
    """Fill ``places`` (S, …) with those of the highest products of spans (S, D) and ``vectors`` (M, D), of 8 bits both.

    ``offsets`` cut the vectors by cell, ``cells`` (S, P) are those of a span. A row is filled as a heap with
    the least on top, and what is left over stays as it is.
    """
    most = places.shape[1]
    heap = np.empty(most, np.int32)
    for span in range(len(spans)):
        at, held = places[span], 0
        for cell in cells[span]:
            for name in range(offsets[cell], offsets[cell + 1]):
                value = _product(spans[span], vectors[name])
                if held < most:
                    place, held = held, held + 1
                    while place > 0 and heap[(place - 1) // 2] > value:
                        heap[place], at[place] = heap[(place - 1) // 2], at[(place - 1) // 2]
                        place = (place - 1) // 2
                elif value > heap[0]:
                    place = 0
                    while 2 * place + 1 < most:
                        below = 2 * place + 1
                        if below + 1 < most and heap[below + 1] < heap[below]:
                            below += 1
                        if heap[below] >= value:
                            break
                        heap[place], at[place] = heap[below], at[below]
                        place = below
                else:
                    continue
                heap[place], at[place] = value, name
