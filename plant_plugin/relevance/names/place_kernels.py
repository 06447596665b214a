"""Compiled loops over the places of a text; imported where they are needed, because numba takes a while.

Shapes: M names, V stems, W words of a text, N candidates, F names found.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CHUNK = 256  # words at which windows begin that are looked at together: what these hold then lies near


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _highest(values):  # type: ignore[no-untyped-def]
    highest = np.float32(0)
    for place in range(len(values)):
        highest = max(highest, values[place])
    return highest


@njit(nogil=True, cache=True)
def _first_at(places, first, last, place):  # type: ignore[no-untyped-def]
    """Return the first of the ascending ``places`` from ``place`` on, or one after all."""
    while first < last:
        middle = (first + last) // 2
        if places[middle] < place:
            first = middle + 1
        else:
            last = middle
    return first


@njit(nogil=True, cache=True)
def cover_of_windows(names, offsets, stems, idf, starts, places, weights, words, window):  # type: ignore[no-untyped-def]
    """Return of each name the most idf that a window of a text holds, where that begins, and how many of its words.

    ``starts`` (V + 1,) cut ``places``, ascending, and ``weights`` of the text's words by stem. The first such window
    counts, which begins with a word of the name.
    """
    best, at = np.zeros(len(names), np.float32), np.zeros(len(names), np.int32)
    matched = np.zeros(len(names), np.int32)
    row_of, wanted = np.full(len(idf), -1, np.int32), np.empty(len(idf), np.int32)
    rows = 0
    for name in names:
        for stem in stems[offsets[name] : offsets[name + 1]]:
            if row_of[stem] < 0 and starts[stem + 1] > starts[stem]:
                row_of[stem], wanted[rows] = rows, stem
                rows += 1
    held, most = np.empty((rows, CHUNK), np.float32), np.empty(rows, np.float32)
    sums = np.empty(CHUNK, np.float32)
    for chunk in range(0, words, CHUNK):
        held[:] = 0
        for row in range(rows):  # what the window that begins at each place holds of each stem
            stem = wanted[row]
            entry = _first_at(places, starts[stem], starts[stem + 1], chunk)
            most[row] = 0
            while entry < starts[stem + 1] and places[entry] < chunk + CHUNK + window - 1:
                value, place = weights[entry] * idf[stem], places[entry] - chunk
                for begin in range(max(0, place - window + 1), min(place + 1, CHUNK)):
                    held[row, begin] = max(held[row, begin], value)
                most[row] = max(most[row], value)
                entry += 1
        for number in range(len(names)):
            of_name = stems[offsets[names[number]] : offsets[names[number] + 1]]
            limit = np.float32(0)
            for stem in of_name:
                limit += most[row_of[stem]] if row_of[stem] >= 0 else np.float32(0)
            if limit <= best[number]:
                continue
            sums[:] = 0
            for stem in of_name:
                if row_of[stem] >= 0 and most[row_of[stem]] > 0:
                    sums += held[row_of[stem]]
            highest = _highest(sums)
            if highest > best[number]:
                begin = 0
                while sums[begin] < highest:
                    begin += 1
                # the same words stand in the window that begins with the first of them, which is the first such one
                place, count = words, 0
                for stem in of_name:
                    if row_of[stem] >= 0:
                        entry = _first_at(places, starts[stem], starts[stem + 1], chunk + begin)
                        if entry < starts[stem + 1]:
                            place = min(place, places[entry])
                        count += held[row_of[stem], begin] > 0
                best[number], at[number], matched[number] = highest, place, count
    return best, at, matched


@njit(nogil=True, cache=True)
def rivals_at(places, labels, totals, held, of_label, at, mine, slack, far, reach):  # type: ignore[no-untyped-def]
    """Compare candidates (N,) with names found (F,), ascending by ``places``, of other labels at most ``reach`` away.

    ``totals`` and ``held`` are idf, of a name and what stands there of it, ``mine`` what stands of a candidate. Returns
    how many hold as much, the most that any holds, and the least that is missing of those that hold as much.
    """
    count, more = np.zeros(len(at), np.int64), np.zeros(len(at), np.float32)
    lowest = np.full(len(at), far, np.float32)
    for number in range(len(at)):
        entry = _first_at(places, 0, len(places), at[number] - reach)
        while entry < len(places) and places[entry] <= at[number] + reach:
            if labels[entry] != of_label[number]:
                more[number] = max(more[number], held[entry])
                if held[entry] >= mine[number] - slack:
                    count[number] += 1
                    lowest[number] = min(lowest[number], totals[entry] - held[entry])
            entry += 1
    return count, more, lowest
