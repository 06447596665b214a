"""Compiled loops of this folder; imported where they are needed, because numba takes a while."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def cover_of_text(stems, weights, offsets, names, idf, sums, touched):  # type: ignore[no-untyped-def]
    """Add the idf of a text's stems to ``sums`` (M,), zeros before, and return which names have any."""
    length = 0
    for place in range(len(stems)):
        stem = stems[place]
        value = weights[place] * idf[stem]
        for entry in range(offsets[stem], offsets[stem + 1]):
            name = names[entry]
            if sums[name] == 0.0:
                touched[length] = name
                length += 1
            sums[name] += value
    return touched[:length].copy()


@njit(nogil=True, cache=True)
def cover_of_windows(names, offsets, stems, idf, starts, places, weights, window):  # type: ignore[no-untyped-def]
    """Return of each name the most idf that a window of a text holds, where that begins, and how many of its words.

    ``starts`` (V + 1,) cut ``places`` and ``weights`` of the text's words by stem.
    """
    best, at = np.zeros(len(names), np.float32), np.zeros(len(names), np.int32)
    matched = np.zeros(len(names), np.int32)
    for number in range(len(names)):
        name = names[number]
        first, size = offsets[name], offsets[name + 1] - offsets[name]
        count = 0
        for slot in range(size):
            stem = stems[first + slot]
            count += starts[stem + 1] - starts[stem]
        standing, slots, values = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float32)
        count = 0
        for slot in range(size):
            stem = stems[first + slot]
            for entry in range(starts[stem], starts[stem + 1]):
                standing[count], slots[count], values[count] = places[entry], slot, weights[entry] * idf[stem]
                count += 1
        order = np.argsort(standing)
        current = np.zeros(size, np.float32)
        for begin in range(count):
            place = standing[order[begin]]
            if begin > 0 and standing[order[begin - 1]] == place:
                continue
            current[:] = 0
            entry = begin
            while entry < count and standing[order[entry]] < place + window:
                here = order[entry]
                current[slots[here]] = max(current[slots[here]], values[here])
                entry += 1
            total, words = np.float32(0), 0
            for slot in range(size):
                total += current[slot]
                words += current[slot] > 0
            if total > best[number]:
                best[number], at[number], matched[number] = total, place, words
    return best, at, matched


@njit(nogil=True, cache=True)
def sum_of_trees(values, features, thresholds, left, right, leaves, roots):  # type: ignore[no-untyped-def]
    """Sum the leaves (T trees, one after the other) that each row of ``values`` (N, F) ends in."""
    sums = np.zeros(len(values), np.float64)
    for row in range(len(values)):
        for tree in range(len(roots)):
            node = roots[tree]
            while left[node] >= 0:
                node = left[node] if values[row, features[node]] <= thresholds[node] else right[node]
            sums[row] += leaves[node]
    return sums
