"""The compiled loops of :mod:`plant_plugin.relevance`: documents in which a label and a token type meet are counted.

Shapes: N documents, L labels, V token types. Compiled by numba; nothing here holds Python's lock, so that threads share
the work. Tables are rows of a CSR matrix: ``offsets`` (rows + 1,), ``tokens`` ascending in each row, ``counts``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from plant_plugin.relevance.index_kernels import keep_largest
from plant_plugin.relevance.sorting_kernels import sort

TILE = 16  # terms whose values are written at once: a line of a processor's cache
SCAN_COST = 32  # passing over this many counters costs as much as putting one token in order


@njit(nogil=True, cache=True)
def distinct_tokens(ids, offsets, special, occurrences, out, token_documents):  # type: ignore[no-untyped-def]
    """Each document's token types once, or (``occurrences``) as often as they stand there; never ``special`` ids (V,).

    ``ids`` are int32, ``offsets`` int64 (N+1,). The tokens go to ``out``, int32, as long as ``ids``; n_t is added
    to ``token_documents``, int64 (V,). Returns int64 (N+1,): where each document's tokens begin in ``out``.
    """
    last = np.zeros(len(special), np.int64)  # document, from 1, that a token was last met in
    starts = np.zeros(len(offsets), np.int64)
    place = 0
    for document in range(len(offsets) - 1):
        for position in range(offsets[document], offsets[document + 1]):
            token = ids[position]
            if special[token]:
                continue
            new = last[token] != document + 1
            if new:
                last[token] = document + 1
                token_documents[token] += 1
            if new or occurrences:
                out[place] = token
                place += 1
        starts[document + 1] = place
    return starts


@njit(nogil=True, cache=True)
def count_pairs(label_offsets, documents, token_offsets, tokens, size, room):  # type: ignore[no-untyped-def]
    """n_lt of a block of labels where it is above 0: a table's parts.

    ``label_offsets`` (labels + 1,) say where each label's documents begin in ``documents``, ``token_offsets`` (N+1,)
    the same of ``tokens``, as :func:`distinct_tokens` found them; ``size`` is V, ``room`` the table's entries at most.
    """
    found_tokens, found_counts = np.empty(room, np.int32), np.empty(room, np.int32)
    offsets = np.zeros(len(label_offsets), np.int64)
    counter, met = np.zeros(size, np.int32), np.empty(size, np.int32)
    place = 0
    for label in range(len(label_offsets) - 1):
        of_label = documents[label_offsets[label] : label_offsets[label + 1]]
        cells = 0
        for document in of_label:
            cells += token_offsets[document + 1] - token_offsets[document]
        if cells * SCAN_COST > size:
            for document in of_label:
                for position in range(token_offsets[document], token_offsets[document + 1]):
                    counter[tokens[position]] += 1
            for token in range(size):
                if counter[token]:
                    found_tokens[place], found_counts[place] = token, counter[token]
                    counter[token] = 0
                    place += 1
        else:
            number = 0
            for document in of_label:
                for position in range(token_offsets[document], token_offsets[document + 1]):
                    token = tokens[position]
                    if counter[token] == 0:
                        met[number] = token
                        number += 1
                    counter[token] += 1
            sort(met[:number])
            for token in met[:number]:
                found_tokens[place], found_counts[place] = token, counter[token]
                counter[token] = 0
                place += 1
        offsets[label + 1] = place
    return offsets, found_tokens[:place], found_counts[:place]


@njit(nogil=True, cache=True)
def mutual_information(both, with_label, with_token, total):  # type: ignore[no-untyped-def]
    """Mutual information in nats from counts whose margins are all above 0 and below ``total``.

    Each cell's P(x,y)/(P(x)P(y)) is 1 ± excess/(product of its margins), so log1p keeps all digits near independence.
    """
    excess = both * total - with_label * with_token
    without_label, without_token = total - with_label, total - with_token
    value = 0.0
    if both:
        value += both * math.log1p(excess / (with_label * with_token))
    if with_label > both:
        value += (with_label - both) * math.log1p(-excess / (with_label * without_token))
    if with_token > both:
        value += (with_token - both) * math.log1p(-excess / (without_label * with_token))
    if without_label > with_token - both:
        value += (without_label - with_token + both) * math.log1p(excess / (without_label * without_token))
    return max(value / total, 0.0)


@njit(nogil=True, cache=True)
def kept_values(  # type: ignore[no-untyped-def]
    offsets, tokens, counts, label_documents, token_documents, total, frequency, any_sign, nats, top
):
    """The ``top`` highest values of each label of a table: offsets, ascending tokens, and values, float32 above 0.

    They are compared as float32: equal relevance from different tables may differ in the last float64 digit. Ties go to
    the lower token. ``label_documents`` are n_l of these labels, ``token_documents`` n_t (V,), ``total`` N. With
    ``frequency`` the counts themselves are the values. Only pairs that meet more often than by chance count; with
    ``any_sign`` all do, those that never meet and are not in the table too. All are divided by the label's highest
    value, but with ``nats``.
    """
    size, longest, most = len(token_documents), 0, 0
    for label in range(len(offsets) - 1):
        length = size if any_sign else offsets[label + 1] - offsets[label]
        longest, most = max(longest, length), most + min(length, top)
    kept_tokens, top_values = np.empty(most, np.int32), np.empty(most, np.float32)
    kept_offsets = np.zeros(len(offsets), np.int64)
    exact, value, where = np.empty(longest), np.empty(longest, np.float32), np.empty(longest, np.int32)
    place = 0
    for label in range(len(offsets) - 1):
        number, highest, with_label = 0, 0.0, label_documents[label]
        entry, last = offsets[label], offsets[label + 1]
        for candidate in range(size if any_sign else last - entry):
            token, both = candidate if any_sign else tokens[entry], 0
            if entry < last and tokens[entry] == token:
                both, entry = np.int64(counts[entry]), entry + 1
            if frequency:
                relevance = float(both)
            else:
                with_token = token_documents[token]
                excess = both * total - with_label * with_token  # exact in integers; its sign is the association's
                if excess == 0 or (excess < 0 and not any_sign):
                    continue
                relevance = mutual_information(both, with_label, with_token, total)
            exact[number], where[number] = relevance, token
            highest = max(highest, relevance)
            number += 1
        above = 0
        for entry in range(number):
            scaled = np.float32(exact[entry] / highest if highest > 0 and not nats else exact[entry])
            if scaled > 0:  # 0: too little for float32
                value[above], where[above] = scaled, where[entry]
                above += 1
        end = place + top
        place += keep_largest(where[:above], value[:above], kept_tokens[place:end], top_values[place:end])
        kept_offsets[label + 1] = place
    return kept_offsets, kept_tokens[:place], top_values[:place]


@njit(nogil=True, cache=True)
def product_turned(offsets, columns, values, dense, out):  # type: ignore[no-untyped-def]
    """A sparse matrix (V, G), given as CSR, times ``dense`` (G, M), turned, into ``out`` (M, V); all float32.

    The sums and their order are those of scipy's product, which would have to be turned afterwards.
    """
    tile = np.empty((TILE, dense.shape[1]), np.float32)
    count = len(offsets) - 1
    for first in range(0, count, TILE):
        last = min(first + TILE, count)
        tile[:] = 0
        for term in range(first, last):
            sums = tile[term - first]
            for place in range(offsets[term], offsets[term + 1]):
                value, row = values[place], dense[columns[place]]
                for column in range(len(sums)):
                    sums[column] += value * row[column]
        for column in range(dense.shape[1]):
            for term in range(first, last):
                out[column, term] = tile[term - first, column]
