"""Compiled loops of :mod:`.pruned_index` and others; imported where they are needed, because numba takes a while."""

from __future__ import annotations

import numpy as np
from numba import njit

from plant_plugin.relevance.sorting_kernels import nth_largest, sort


@njit(nogil=True, cache=True)
def keep_largest(terms, weights, out_terms, out_weights):  # type: ignore[no-untyped-def]
    """Copy the entries that are largest by absolute value to ``out_…``, as many as fit; returns how many they are."""
    most, limit, equal = len(out_terms), np.float32(0), len(weights)
    if len(weights) > most:
        limit = nth_largest(weights, most)
        equal = most
        for weight in weights:
            equal -= abs(weight) > limit
    length = 0
    for entry in range(len(weights)):
        size = abs(weights[entry])
        equal -= size == limit
        if size > limit or (size == limit and equal >= 0):
            out_terms[length], out_weights[length] = terms[entry], weights[entry]
            length += 1
    return length


@njit(nogil=True, cache=True)
def count_above_0(columns, values, size):  # type: ignore[no-untyped-def]
    """Count the entries above 0 of each of a sparse matrix's ``size`` columns; numpy's count would take eight bytes."""
    counts = np.zeros(size, np.int64)
    for entry in range(len(columns)):
        counts[columns[entry]] += values[entry] > 0
    return counts


@njit(nogil=True, cache=True)
def keep_of_terms(label_offsets, terms, weights, offsets, labels, heap):  # type: ignore[no-untyped-def]
    """Fill ``labels`` and ``heap`` with the largest weights of each term: what ``offsets`` (V + 1,) have room for.

    What a term keeps is a heap with the least on top, so that the weights (L, V) are read once, as they lie.
    """
    filled = np.zeros(len(offsets) - 1, np.int64)
    for label in range(len(label_offsets) - 1):
        for entry in range(label_offsets[label], label_offsets[label + 1]):
            term, weight = terms[entry], weights[entry]
            first, room, place = offsets[term], offsets[term + 1] - offsets[term], filled[term]
            if not weight > 0 or (place == room and weight <= heap[first]):
                continue
            if place < room:
                filled[term] += 1
                while place > 0 and heap[first + (place - 1) // 2] > weight:
                    above = (place - 1) // 2
                    labels[first + place], heap[first + place] = labels[first + above], heap[first + above]
                    place = above
            else:
                place = 0
                while 2 * place + 1 < room:
                    below = 2 * place + 1
                    if below + 1 < room and heap[first + below + 1] < heap[first + below]:
                        below += 1
                    if heap[first + below] >= weight:
                        break
                    labels[first + place], heap[first + place] = labels[first + below], heap[first + below]
                    place = below
            labels[first + place], heap[first + place] = label, weight


@njit(nogil=True, cache=True)
def rank_labels(  # type: ignore[no-untyped-def]
    offsets, terms, values, index_offsets, index_labels, index_weights, label_offsets, label_terms, label_weights, size,
    out_labels, out_scores,
):  # fmt: skip
    """Fill (B, C) ``out_…``: see :meth:`PrunedIndex.candidates`; ``size`` is V."""
    labels, most = len(label_offsets) - 1, out_labels.shape[1]
    sums, found, known = np.zeros(labels, np.float32), np.empty(labels, np.float32), np.zeros(labels, np.bool_)
    met, text = np.empty(labels, np.int32), np.zeros(size, np.float32)
    for row in range(len(out_labels)):
        number = 0
        for entry in range(offsets[row], offsets[row + 1]):
            term, value = terms[entry], values[entry]
            text[term] = value
            for place in range(index_offsets[term], index_offsets[term + 1]):
                label = index_labels[place]
                if not known[label]:
                    known[label], sums[label], met[number], number = True, 0, label, number + 1
                sums[label] += value * index_weights[place]
        chosen, some, label = out_labels[row], met[:number], 0
        for place in range(number):
            value = sums[some[place]]
            found[place] = value if value == value else 0  # NaN would be none of the most
        taken = keep_largest(some, found[:number], chosen, out_scores[row])
        while taken < most:
            if not known[label]:
                chosen[taken], taken = label, taken + 1
            label += 1
        sort(chosen)
        for place in range(most):
            score = np.float32(0)
            for entry in range(label_offsets[chosen[place]], label_offsets[chosen[place] + 1]):
                score += text[label_terms[entry]] * label_weights[entry]
            out_scores[row, place] = score
        for place in range(number):
            known[some[place]] = False
        for entry in range(offsets[row], offsets[row + 1]):
            text[terms[entry]] = 0
