"""Compiled loops of this folder; imported where they are needed, because numba takes a while.

Shapes: M names, V stems, W words of a text, N candidates, F names found, S spans, D numbers of a vector, P cells that
are looked at for a span.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from plant_plugin.networks.kernels.ascending import first_at


@njit(nogil=True, cache=True)
def cover_of_text(  # type: ignore[no-untyped-def]
    stems, weights, offsets, names, other_offsets, others, rest, idf, total, least
):
    """Return the names of whose idf ``stems`` of a text hold the share ``least``, and the share that they hold.

    ``offsets`` cut ``names`` by the stem that they are looked for by, ``other_offsets`` cut the ``others`` by name;
    those may hold ``rest``.
    """
    of_stem, sums = np.zeros(len(idf), np.float32), np.zeros(len(total), np.float32)
    touched, length = np.empty(len(total), np.int32), 0
    for place in range(len(stems)):
        stem = stems[place]
        value = weights[place] * idf[stem]
        of_stem[stem] = value
        for entry in range(offsets[stem], offsets[stem + 1]):
            name = np.uint64(names[entry])
            if sums[name] == 0:
                touched[length] = name
                length += 1
            sums[name] += value
    shares, most = np.empty(length, np.float32), 0
    for place in range(length):
        name = np.uint64(touched[place])
        held = sums[name]
        if held + rest[name] >= least * total[name]:
            for entry in range(other_offsets[name], other_offsets[name + 1]):
                held += of_stem[np.uint64(others[entry])]
            if held >= least * total[name]:
                touched[most], shares[most] = name, held / total[name]
                most += 1
    return touched[:most].copy(), shares[:most].copy()


CHUNK = 256  # words at which windows begin that are looked at together: what these hold then lies near


@njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _highest(values):  # type: ignore[no-untyped-def]
    highest = np.float32(0)
    for place in range(len(values)):
        highest = max(highest, values[place])
    return highest


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
            entry = first_at(places, starts[stem], starts[stem + 1], chunk)
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
                        entry = first_at(places, starts[stem], starts[stem + 1], chunk + begin)
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
        entry = first_at(places, np.int64(0), len(places), at[number] - reach)
        while entry < len(places) and places[entry] <= at[number] + reach:
            if labels[entry] != of_label[number]:
                more[number] = max(more[number], held[entry])
                if held[entry] >= mine[number] - slack:
                    count[number] += 1
                    lowest[number] = min(lowest[number], totals[entry] - held[entry])
            entry += 1
    return count, more, lowest


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
