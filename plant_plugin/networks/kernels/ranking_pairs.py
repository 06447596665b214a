"""The pairs of the ranking loss on a CPU: one pass over the pairs of each label, value and gradient together.

Shape key: **R** rows (one label of one document each) · **M** rows of a document · **T** token positions · **K** tokens
that form pairs.

A row's tokens are sorted once by relevance and once by score; then each pair costs one exponential, one logarithm and
one division; both functions are polynomials here, accurate to float32.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit, types
from numba.extending import overload

from plant_plugin.networks.kernels.exponential import INTEGER, LOG2_E, REORDERED, SINGLE, coefficients, power_of_two

ROWS_AT_ONCE = 32  # one thread's share: small, because some labels have no pairs and because its sorting takes memory
_LOWEST_EXPONENT = np.float32(-126)  # of 2; below it float32 has only subnormal numbers, which are slow
# ln(1+a)/a for a in (0, 1]; off by at most 1e-8 before rounding
_LOG1P = coefficients(lambda a: np.log1p(a) / a, 8, (1e-12, 1.0))


def softplus_and_sigmoid(x):  # type: ignore[no-untyped-def]
    """ln(1 + e^−x) and 1/(1 + e^x). Compiled code takes :func:`_in_single` where x is float32."""
    decayed = math.exp(-abs(x))
    return max(-x, 0.0) + math.log1p(decayed), (decayed if x >= 0 else 1.0) / (1.0 + decayed)


def _in_single(x):  # type: ignore[no-untyped-def]
    exponent = -abs(x) * LOG2_E
    exponent = exponent if exponent > _LOWEST_EXPONENT else _LOWEST_EXPONENT
    decayed = power_of_two(exponent)
    series = _LOG1P[8]
    series = series * decayed + _LOG1P[7]
    series = series * decayed + _LOG1P[6]
    series = series * decayed + _LOG1P[5]
    series = series * decayed + _LOG1P[4]
    series = series * decayed + _LOG1P[3]
    series = series * decayed + _LOG1P[2]
    series = series * decayed + _LOG1P[1]
    series = series * decayed + _LOG1P[0]
    reciprocal = SINGLE(1) / (SINGLE(1) + decayed)
    above = -x if x < SINGLE(0) else SINGLE(0)
    return above + decayed * series, (decayed * reciprocal if x >= SINGLE(0) else reciprocal)


@overload(softplus_and_sigmoid, inline="always")
def _by_type(x):  # type: ignore[no-untyped-def]
    return _in_single if x == types.float32 else softplus_and_sigmoid


def descending(values: np.ndarray) -> np.ndarray:
    """Order of each row, highest first, ties by position: (R, T) int64.

    For float32 the value and its position are packed into one integer, which NumPy sorts five to ten times as fast.
    """
    if values.dtype != np.float32:
        return np.argsort(-values, axis=-1, kind="stable")
    bits = (values + SINGLE(0)).view(np.int32)  # −0 becomes 0
    ascending = bits ^ ((bits >> 31) & INTEGER(0x7FFFFFFF))  # integers in the order of the numbers
    keys = (~ascending).astype(np.int64) << 32 | np.arange(values.shape[-1])
    keys.sort(axis=-1)
    return keys & 0xFFFFFFFF


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def _sum_of_pairs(scores, gains, discounts, gradient, better):  # type: ignore[no-untyped-def]
    """Σ over pairs of weight · ln(1 + e^(s_h − s_j)), j among the first ``better``; ``gradient`` gets its gradient."""
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
def _add_rows(scores, relevance, order, by_score, k, table, losses, gradients):  # type: ignore[no-untyped-def]
    """Rows whose tokens are sorted by relevance (padding last, with −1); the scores hold σ, ``table`` the discounts."""
    kind = scores.dtype.type
    for row in range(len(scores)):
        count, relevant, ideal = 0, 0, 0.0
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
        discounts, gradient = np.empty(count, scores.dtype), np.zeros(count, scores.dtype)
        for rank in range(count):
            discounts[by_score[row, rank]] = table[rank]
        total = _sum_of_pairs(scores[row, :count], gains[:count], discounts, gradient, relevant)
        losses[row] = kind(total / (ideal * math.log(2.0)))
        for place in range(count):
            gradients[row, order[row, place]] = gradient[place] * kind(1 / (ideal * math.log(2.0)))


def ranking_rows(
    scores: np.ndarray, relevance: np.ndarray, mask: np.ndarray, k: int, sigma: float, every: bool, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Loss of every row and its gradient by the scores.

    Args:
        scores: (R, T) float32 or float64, contiguous.
        relevance: (R, T), the same type.
        mask: (B, T) bool; the R rows are B documents' M rows one after the other.
        k: K ≥ 1.
        sigma: σ > 0.
        every: Whether the lesser token of a pair may lie outside the top K.
        threads: Rows are shared among so many threads; compiled code holds no lock.

    Returns:
        ``losses`` (R,) in bits and ``gradients`` (R, T).
    """
    rows, labels, kind = len(scores), len(scores) // max(1, len(mask)), scores.dtype.type
    losses, gradients = np.zeros(rows, scores.dtype), np.zeros_like(scores)
    table = (1 / np.log2(np.arange(2, scores.shape[1] + 2))).astype(scores.dtype)
    starts = range(0, rows, ROWS_AT_ONCE)

    def work(start: int) -> None:
        part = slice(start, min(rows, start + ROWS_AT_ONCE))
        real = mask[np.arange(part.start, part.stop) // labels]
        known = np.where(real, np.maximum(relevance[part], 0), kind(-1))
        order = descending(known)
        order = order if every else np.ascontiguousarray(order[:, :k])
        sorted_relevance = np.take_along_axis(known, order, axis=-1)
        chosen = np.take_along_axis(scores[part], order, axis=-1) * kind(sigma)
        by_score = descending(np.where(sorted_relevance >= 0, chosen, kind(-np.inf)))
        _add_rows(chosen, sorted_relevance, order, by_score, k, table, losses[part], gradients[part])
        gradients[part] *= kind(sigma)

    if threads == 1 or len(starts) <= 1:
        for start in starts:
            work(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, starts))
    return losses, gradients
