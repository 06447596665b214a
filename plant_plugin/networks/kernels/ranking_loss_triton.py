# mypy: allow-untyped-defs, allow-incomplete-defs
"""The pairs of the ranking loss on GPUs in Triton: value and gradient in one pass; torch sorts.

Tested in Triton's interpreter and on an H100, compiled for compute capabilities from 8.0 on. :mod:`.triton_choice` says
when it is taken.

Shape key: **R** rows (one label of one document each) · **M** rows of a document · **T** token positions · **N** tokens
of a row that are compared: the top K, or all T · **b**, **o** tokens of one tile.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

ELEMENTS_AT_ONCE = 2**24  # of (rows, T): sorting takes a few tensors of that size
# Tokens on both sides of a tile of pairs. Most labels have few relevant tokens in a document: the better side is short.
BETTER, OTHERS = 32, 64
WARPS = 4


@triton.jit
def sum_of_pairs(
    scores, gains, discounts, better_counts, counts, losses, upwards, downwards, width,
    BETTER: tl.constexpr, OTHERS: tl.constexpr,
):  # fmt: skip
    """Sum weight · ln(1 + e^(s_h − s_j)) over a row's pairs, and its two-sided gradient. Grid (R,).

    Tokens (R, N) come by relevance, the most relevant first: their scores, falling gains and discounts. Of a row's
    tokens ``counts`` (R,) int32 are real, and as many as ``better_counts`` (R,) of the first may be the better one of a
    pair. ``losses`` (R,) get the sums; ``upwards`` and ``downwards``, zeros (R, N), how much each token is pulled up as
    the better one of its pairs, and pushed down as the other one. ``width`` is N; OTHERS and BETTER are powers of two,
    the former a multiple of the latter.
    """
    WIDE: tl.constexpr = scores.dtype.element_ty
    row = tl.program_id(0).to(tl.int64)
    begin = row * width
    better, count = tl.load(better_counts + row), tl.load(counts + row)
    values = tl.zeros((BETTER, OTHERS), WIDE)
    for first in range(0, better, BETTER):
        better_place = first + tl.arange(0, BETTER)
        real = better_place < better
        score = tl.load(scores + begin + better_place, mask=real, other=0.0)[:, None]
        gain = tl.load(gains + begin + better_place, mask=real, other=0.0)[:, None]  # beyond: no gain, so no pair
        discount = tl.load(discounts + begin + better_place, mask=real, other=0.0)[:, None]
        pulls = tl.zeros((BETTER, OTHERS), WIDE)
        for second in range(first // OTHERS * OTHERS, count, OTHERS):  # what comes earlier has at least the gain
            other = second + tl.arange(0, OTHERS)
            there = other < count
            difference = score - tl.load(scores + begin + other, mask=there, other=0.0)[None, :]
            surplus = gain - tl.load(gains + begin + other, mask=there, other=float("inf"))[None, :]
            distance = tl.abs(discount - tl.load(discounts + begin + other, mask=there, other=0.0)[None, :])
            weight = tl.maximum(surplus, 0.0) * distance  # equal gains make no pair
            decayed = tl.exp(-tl.abs(difference))
            shifted = 1.0 + decayed
            reciprocal = 1.0 / shifted
            # ln(1 + e^−|x|), with what the sum in `shifted` has rounded away
            logarithm = tl.log(shifted) + (decayed - (shifted - 1.0)) * reciprocal
            values += weight * (tl.maximum(-difference, 0.0) + logarithm)
            pull = weight * tl.where(difference >= 0, decayed, 1.0) * reciprocal
            pulls += pull
            # No other program has this row, and a token is always at the same place of a tile, so that one thread
            # adds to it in the order of the loop: results repeat.
            tl.atomic_add(downwards + begin + other, tl.sum(pull, axis=0), mask=there, sem="relaxed")
        tl.store(upwards + begin + better_place, tl.sum(pulls, axis=1), mask=real)
    tl.store(losses + row, tl.sum(tl.sum(values, axis=1), axis=0))


def ranking_rows(scores: Tensor, relevance: Tensor, mask: Tensor, k: int, every: bool) -> tuple[Tensor, Tensor]:
    """Return losses (R,) in bits of all rows, and their gradients (R, T) by the scores.

    Args:
        scores: (R, T) float32 or float64, contiguous; relevance has the same type.
        relevance: (R, T).
        mask: (B, T) bool; the R rows are B documents' M rows one after the other.
        k: K ≥ 1.
        every: Whether the lesser token of a pair may lie outside the top K.
    """
    rows, labels = len(scores), len(scores) // max(1, len(mask))
    losses, gradients = scores.new_zeros(rows), torch.zeros_like(scores)
    size = max(1, ELEMENTS_AT_ONCE // max(1, scores.shape[1]))
    for start in range(0, rows if scores.shape[1] else 0, size):
        part = slice(start, min(rows, start + size))
        documents = torch.arange(part.start, part.stop, device=mask.device) // labels
        losses[part], gradients[part] = _rows(scores[part], relevance[part], mask[documents], k, every)
    return losses, gradients


def _rows(scores: Tensor, relevance: Tensor, real: Tensor, k: int, every: bool) -> tuple[Tensor, Tensor]:
    """Compute :func:`ranking_rows` for rows (R, T) that are sorted at once; ``real`` is (R, T)."""
    top = min(k, scores.shape[1])
    known, order = relevance.clamp(min=0).masked_fill(~real, -1).sort(dim=-1, descending=True, stable=True)
    if not every:
        known, order = known[:, :top], order[:, :top]
    chosen, real = scores.gather(-1, order), known >= 0
    table = 1 / torch.log2(torch.arange(2, known.shape[1] + 2, device=scores.device, dtype=scores.dtype))
    gains = torch.expm1(known.clamp(min=0) * math.log(2))
    ideal = (gains[:, :top] * table[:top]).sum(dim=-1)
    by_score = chosen.masked_fill(~real, float("-inf")).sort(dim=-1, descending=True, stable=True).indices
    discounts = torch.empty_like(chosen).scatter_(-1, by_score, table.expand_as(chosen))
    better, counts = ((part.sum(dim=-1, dtype=torch.int32)) for part in (gains[:, :top] > 0, real))
    losses, upwards, downwards = torch.empty_like(ideal), torch.zeros_like(chosen), torch.zeros_like(chosen)
    with torch.cuda.device_of(scores):
        sum_of_pairs[(len(chosen),)](
            chosen.contiguous(), gains, discounts, better, counts, losses, upwards, downwards, chosen.shape[1],
            BETTER=BETTER, OTHERS=OTHERS, num_warps=WARPS,
        )  # fmt: skip
    scale = 1 / (torch.where(ideal > 0, ideal, 1) * math.log(2))
    gradients = (downwards - upwards) * scale[:, None]
    return losses * scale, torch.zeros_like(scores).scatter_(-1, order, gradients)
