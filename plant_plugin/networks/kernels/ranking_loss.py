"""The ranking loss of stage 1, value and gradient in one pass, beside a plain reference.

Shape key: **B** documents · **M** labels of a document · **T** token positions · **K** tokens that form pairs · **R**
rows, one label of one document each.

The plain way makes (B, M, K, K) tensors, a dozen of them: 140 GB for one document with 8,930 labels and K = 2000. Here
a pair exists only while it is added up, so memory is that of the scores. Exact: every pair of the formula is counted.

On a CPU a row (one label of one document) has its tokens sorted once by relevance and once by score; then each pair
costs one exponential, one logarithm and one division; both functions are polynomials here, accurate to float32.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numba import njit, types
from numba.extending import overload
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from plant_plugin.networks.kernels.exponential import INTEGER, LOG2_E, REORDERED, SINGLE, coefficients, power_of_two
from plant_plugin.networks.kernels.triton_choice import takes_triton

# Up to here torch may write the pairs out on a GPU: about 3 GiB, a dozen float32 tensors of this size.
PAIRS_WRITTEN_OUT = 2**26
ROWS_AT_ONCE = 32  # one thread's share: small, because some labels have no pairs and because its sorting takes memory
_LOWEST_EXPONENT = np.float32(-126)  # of 2; below it float32 has only subnormal numbers, which are slow
# ln(1+a)/a for a in (0, 1]; off by at most 1e-8 before rounding
_LOG1P = coefficients(lambda a: np.log1p(a) / a, 8, (1e-12, 1.0))


def ranking_loss_reference(
    scores: Tensor, relevance: Tensor, mask: Tensor, k: int = 1000, sigma: float = 1.0, pairs: str = "within"
) -> Tensor:
    """The same numbers as :func:`ranking_loss`, with every pair written out. For tests, reading and other devices.

    Args:
        scores: (B, M, T) attention scores s.
        relevance: (B, M, T) r in [0, 1].
        mask: (B, T) bool, true on real tokens.
        k: K ≥ 1; the K positions of the document with the highest r form the set T_l. Never more than it has.
        sigma: σ > 0.
        pairs: ``within`` (both tokens in T_l) or ``top_vs_all`` (only the better one).

    Returns:
        (B, M) loss, ≥ 0, in bits.
    """
    padding = ~mask[:, None, :].expand_as(scores)
    top = min(k, scores.shape[-1])
    order = relevance.masked_fill(padding, -1.0).sort(dim=-1, descending=True, stable=True).indices
    order = order[..., :top] if pairs == "within" else order  # most relevant first: also the ideal order
    scores, real = scores.gather(-1, order), ~padding.gather(-1, order)
    gains = (torch.expm1(relevance.gather(-1, order) * math.log(2))).clamp(min=0) * real
    ideal = (gains[..., :top] * discount(torch.arange(1, top + 1, device=scores.device), scores)).sum(-1)
    discounts = discount(_ranks(scores, real), scores)
    weight = (gains[..., :top, None] - gains[..., None, :]).clamp(min=0)  # only r_j > r_h makes a pair
    weight = weight * (discounts[..., :top, None] - discounts[..., None, :]).abs()
    weight = weight * (real[..., :top, None] & real[..., None, :])
    weight = weight / torch.where(ideal > 0, ideal, 1)[..., None, None]
    losses = functional.softplus(-sigma * (scores[..., :top, None] - scores[..., None, :])) / math.log(2)
    return (weight.detach() * losses).sum(dim=(-1, -2))


def ranking_loss(
    scores: Tensor, relevance: Tensor, mask: Tensor, k: int = 1000, sigma: float = 1.0, pairs: str = "within"
) -> Tensor:
    """LambdaRank-nDCG (method §3) over all pairs, without ever holding the pairs.

    Arguments as in :func:`ranking_loss_reference`. On a GPU Triton computes this where it is installed and the pairs
    are too many to be written out, else the reference; see :mod:`.triton_choice`.

    Returns:
        (B, M) loss, ≥ 0, in bits, in the type of ``scores``; the backward pass only scales the stored gradient.

    Source: PLANT, Equation 2; Burges 2010 (LambdaMART) for the weight.
    """
    top = min(k, scores.shape[-1])
    number = scores.numel() * top if pairs == "top_vs_all" else scores[..., :top].numel() * top
    if scores.device.type != "cpu" and not takes_triton(scores.device, where_auto=number > PAIRS_WRITTEN_OUT):
        return ranking_loss_reference(scores, relevance, mask, k, sigma, pairs)
    found: Tensor = _RankingLoss.apply(scores, relevance, mask, k, sigma, pairs)
    return found


class _RankingLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, relevance: Tensor, mask: Tensor, k: int, sigma: float, pairs: str) -> Tensor:
        kind = torch.float64 if scores.dtype == torch.float64 else torch.float32
        flat, related = (part.detach().to(kind).flatten(0, 1).contiguous() for part in (scores, relevance))
        losses, gradients = _of_rows(flat, related, mask, k, sigma, pairs == "top_vs_all")
        ctx.save_for_backward(gradients.view(scores.shape))
        return losses.view(scores.shape[:-1]).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *arriving: Tensor) -> Any:
        (gradients,) = ctx.saved_tensors
        return (arriving[0][..., None] * gradients).to(arriving[0].dtype), None, None, None, None, None


def _of_rows(
    scores: Tensor, relevance: Tensor, mask: Tensor, k: int, sigma: float, every: bool
) -> tuple[Tensor, Tensor]:
    """Losses (B·M,) and gradients (B·M, T), by compiled loops on a CPU and by Triton elsewhere."""
    if scores.device.type == "cpu":
        flat, related, real = (part.numpy() for part in (scores, relevance, mask))
        found = ranking_rows(flat, related, real, k, sigma, every, torch.get_num_threads())
        return torch.from_numpy(found[0]), torch.from_numpy(found[1])
    from plant_plugin.networks.kernels.ranking_loss_triton import ranking_rows as rows_by_triton

    return rows_by_triton(scores, relevance, mask, k, sigma, every)


def discount(rank: Tensor, like: Tensor) -> Tensor:
    """1/log2(1 + rank) in the type of ``like``; ranks count from 1."""
    return 1 / torch.log2(1 + rank.to(like.dtype))


def _ranks(scores: Tensor, real: Tensor) -> Tensor:
    """Place (from 1) of each token when real tokens are sorted by score, highest first; padding comes last."""
    order = scores.detach().masked_fill(~real, float("-inf")).sort(dim=-1, descending=True, stable=True).indices
    places = torch.arange(1, scores.shape[-1] + 1, device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, places)


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
