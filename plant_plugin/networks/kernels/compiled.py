# mypy: allow-untyped-defs
"""The compiled loops of all kernels on a CPU; imported where a loop is first needed, because numba takes a while.

Nothing here holds Python's lock, so that threads share the work.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import float32, njit
from numba.extending import overload, register_jitable
from numpy.polynomial import Chebyshev, Polynomial

from plant_plugin.networks.kernels.ascending import first_at

SINGLE, INTEGER = np.float32, np.int32
LOG2_E = np.float32(1 / math.log(2))
# Sums may be reordered and fused: that lets a loop run 8 or 16 numbers at a time. NaN and ∞ keep their meaning.
REORDERED = {"reassoc", "contract", "nsz", "arcp"}
_LANE = np.uint64(2**16 - 1)  # the bits of a hash that decide over one element of a dropout
_LOWEST_POWER = np.float32(-126)  # of 2; below it are subnormal numbers only, which are slow


def coefficients(
    function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]], degree: int, domain: tuple[float, float]
) -> tuple[np.float32, ...]:
    """Return the factors of the polynomial that meets ``function`` in an interval's Chebyshev points.

    The factor of the highest power comes first.
    """
    polynomial = Chebyshev.interpolate(function, degree, domain=domain).convert(kind=Polynomial)
    return tuple(np.float32(coefficient) for coefficient in polynomial.coef[::-1])


_EXP2 = coefficients(np.exp2, 6, (-0.5, 0.5))  # off by at most 2e-8 before rounding
# ln(1+a)/a for a in (0, 1]; off by at most 1e-8 before rounding
_LOG1P = coefficients(lambda a: np.log1p(a) / a, 8, (1e-12, 1.0))


@register_jitable(fastmath=REORDERED)  # inlined by LLVM: by numba it takes three times as long
def _polynomial(factors, x):
    """Return the polynomial of x whose factors are given, the highest power first.

    Their number is known when the code is compiled, so that no loop is left.
    """
    value = factors[0]
    for factor in factors[1:]:
        value = value * x + factor
    return value


@register_jitable(fastmath=REORDERED)  # inlined by LLVM: by numba it takes three times as long
def power_of_two(exponent):
    """Return 2^exponent of a float32 in [-126, 127]; NaN stays NaN."""
    whole = np.floor(exponent + SINGLE(0.5))
    part = exponent - whole
    # (whole + 127) · 2²³ are the bits of 2^whole
    return _polynomial(_EXP2, part) * INTEGER((INTEGER(whole) + INTEGER(127)) * INTEGER(1 << 23)).view(SINGLE)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def attend_rows(scores, contributions, bias, attended, normaliser, lowest):
    """Do what :func:`.attention_rows.attend` says; ``lowest`` is a float32."""
    for label in range(scores.shape[0]):
        for document in range(scores.shape[1]):
            row, read = scores[label, document], contributions[label, document]
            _mask(row, bias, document)
            highest = _highest(row)
            total, read_sum = SINGLE(0), SINGLE(0)
            for place in range(len(row)):
                below = row[place] - highest
                below = lowest if below < lowest else below
                weight = power_of_two(below * LOG2_E)
                total += weight
                read_sum += weight * read[place]
            attended[label, document] = read_sum / total
            normaliser[label, document] = highest + np.log(total)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def turn_rows(scores, contributions, bias, attended, normaliser, arriving, lowest):
    """Do what :func:`.attention_rows.turn_into_gradients` says; ``lowest`` is a float32."""
    for label in range(scores.shape[0]):
        for document in range(scores.shape[1]):
            row, read = scores[label, document], contributions[label, document]
            _mask(row, bias, document)
            mean, norm, pull = attended[label, document], normaliser[label, document], arriving[label, document]
            for place in range(len(row)):
                below = row[place] - norm
                below = lowest if below < lowest else below
                weight = power_of_two(below * LOG2_E) * pull
                row[place] = weight
                read[place] = (read[place] - mean) * weight


@njit(nogil=True, cache=True)
def _mask(row, bias, document):
    if len(bias):
        for place in range(len(row)):
            row[place] += bias[document, place]


@njit(nogil=True, cache=True)
def _highest(row):
    """Return the largest number of a row, by integers in the order of the numbers: those have a vectorised maximum."""
    highest = INTEGER(-(2**31))
    for place in range(len(row)):
        key = _ordered(SINGLE(row[place]).view(INTEGER))
        highest = key if key > highest else highest
    return _ordered(highest).view(SINGLE)


@njit(nogil=True, cache=True, inline="always")
def _ordered(bits):
    """Turn the bits of a float32 into an integer of the same order, and back."""
    return INTEGER(bits ^ INTEGER(INTEGER(bits >> INTEGER(31)) & INTEGER(0x7FFFFFFF)))


@njit(nogil=True, cache=True)
def relevance_at(labels, columns, offsets, types, values, size):
    """Return the relevance (B, M, T) of labels (B, M) at token types (B, T), from a sparse table (L, size)."""
    relevance = np.empty((len(labels), labels.shape[1], columns.shape[1]), values.dtype)
    table = np.zeros(size, values.dtype)  # one label's row, written out and wiped again
    for document in range(len(labels)):
        for row in range(labels.shape[1]):
            label = labels[document, row]
            entries = range(offsets[label], offsets[label + 1])
            for entry in entries:
                table[types[entry]] = values[entry]
            for position in range(columns.shape[1]):
                relevance[document, row, position] = table[columns[document, position]]
            for entry in entries:
                table[types[entry]] = 0
    return relevance


@njit(nogil=True, cache=True)
def block_entries(start, stop, offsets, labels, values, place_offsets, places, rows, columns, relevance):
    """Write the relevance of labels from ``start`` to ``stop`` at all places, from rows of token types.

    Returns:
        The number of entries written to ``rows``, ``columns`` and ``relevance``.
    """
    number = 0
    for kind in range(len(offsets) - 1):
        first, last = place_offsets[kind], place_offsets[kind + 1]
        if first == last:
            continue
        begin, end = offsets[kind], offsets[kind + 1]
        begin = first_at(labels, begin, end, start)
        while begin < end and labels[begin] < stop:
            for place in range(first, last):
                rows[number], columns[number], relevance[number] = labels[begin] - start, places[place], values[begin]
                number += 1
            begin += 1
    return number


@njit(nogil=True, cache=True)
def add_prior(scores, strength, rows, columns, values):
    """Add strength (labels,) times relevance to the scores (labels, C) of a block, in place."""
    for entry in range(len(rows)):
        scores[rows[entry], columns[entry]] += strength[rows[entry]] * values[entry]


@njit(nogil=True, cache=True)
def add_strength_gradient(total, arriving, rows, columns, values):
    """Add to ``total`` (labels,) the sum over columns of ``arriving`` (labels, C) times relevance, in place."""
    for entry in range(len(rows)):
        total[rows[entry]] += arriving[rows[entry], columns[entry]] * values[entry]


@njit(nogil=True, cache=True)
def fill_mask(mask, factor, dropped, seed):
    """Write ``factor`` where an element's 16 bits of SplitMix64 (Steele et al. 2014) reach ``dropped``, else 0."""
    whole = len(mask) // 4
    for group in range(whole):  # four at a time: a loop within would prevent vector instructions
        bits = _hash(seed, group)
        mask[4 * group] = factor if (bits & _LANE) >= dropped else 0
        mask[4 * group + 1] = factor if ((bits >> np.uint64(16)) & _LANE) >= dropped else 0
        mask[4 * group + 2] = factor if ((bits >> np.uint64(32)) & _LANE) >= dropped else 0
        mask[4 * group + 3] = factor if (bits >> np.uint64(48)) >= dropped else 0
    bits = _hash(seed, whole)
    for place in range(4 * whole, len(mask)):
        mask[place] = factor if (bits & _LANE) >= dropped else 0
        bits >>= np.uint64(16)


@njit(nogil=True, cache=True, inline="always")
def _hash(seed, number):
    bits = seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def softplus_and_sigmoid(x):
    """Return ln(1 + e^−x) and 1/(1 + e^x). Compiled code takes :func:`_in_single` where x is float32."""
    decayed = math.exp(-abs(x))
    return max(-x, 0.0) + math.log1p(decayed), (decayed if x >= 0 else 1.0) / (1.0 + decayed)


def _in_single(x):
    exponent = -abs(x) * LOG2_E
    exponent = exponent if exponent > _LOWEST_POWER else _LOWEST_POWER
    decayed = power_of_two(exponent)
    reciprocal = SINGLE(1) / (SINGLE(1) + decayed)
    above = -x if x < SINGLE(0) else SINGLE(0)
    return above + decayed * _polynomial(_LOG1P, decayed), (decayed * reciprocal if x >= SINGLE(0) else reciprocal)


@overload(softplus_and_sigmoid, inline="always")
def _by_type(x):
    return _in_single if x == float32 else softplus_and_sigmoid


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def _sum_of_pairs(scores, gains, discounts, gradient, better):
    """Sum weight · ln(1 + e^(s_h − s_j)) over pairs, j among the first ``better``; ``gradient`` gets its gradient."""
    kind = scores.dtype.type
    total, following = 0.0, 0
    for first in range(better):
        while following < len(gains) and gains[following] >= gains[first]:
            following += 1  # only tokens of lower gain make a pair
        other_scores, other_gains = scores[following:], gains[following:]
        other_discounts, other_gradient = discounts[following:], gradient[following:]
        score, gain, discount = scores[first], gains[first], discounts[first]
        value, pull = kind(0), kind(0)
        for other in range(len(other_scores)):
            weight = (gain - other_gains[other]) * abs(discount - other_discounts[other])
            loss, slope = softplus_and_sigmoid(score - other_scores[other])
            value += weight * loss
            slope *= weight
            pull += slope
            other_gradient[other] += slope
        total += value
        gradient[first] -= pull
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def add_ranking_rows(scores, relevance, order, by_score, k, table, losses, gradients):
    """Compute losses and gradients of rows whose tokens are sorted by relevance; ``table`` holds the discounts.

    Padding comes last and has a relevance of −1.
    """
    kind = scores.dtype.type
    for row in range(len(scores)):
        count, relevant, ideal = 0, np.int64(0), 0.0  # a literal 0 would compile the sum of pairs once more
        gains = np.zeros(scores.shape[1], scores.dtype)
        for place in range(scores.shape[1]):
            count += relevance[row, place] >= 0
            if relevance[row, place] > 0:
                gains[place] = math.expm1(relevance[row, place] * math.log(2.0))
                if place < k:
                    relevant += 1
                    ideal += gains[place] * table[place]
        if not ideal > 0:
            continue
        ideal *= math.log(2.0)
        discounts, gradient = np.zeros(count, scores.dtype), np.zeros(count, scores.dtype)
        for rank in range(count):
            discounts[by_score[row, rank]] = table[rank]
        total = _sum_of_pairs(scores[row, :count], gains[:count], discounts, gradient, relevant)
        losses[row] = kind(total / ideal)
        for place in range(count):
            losses[row] += kind(0) * scores[row, place]  # NaN stays NaN
            gradients[row, order[row, place]] = gradient[place] * kind(1 / ideal)
