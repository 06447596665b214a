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

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from plant_plugin.networks.kernels.passes import Context, on_threads
from plant_plugin.networks.kernels.triton_choice import takes_triton

ROWS_AT_ONCE = 32  # one thread's share: small, because some labels have no pairs and because its sorting takes memory


def ranking_loss_reference(
    scores: Tensor, relevance: Tensor, mask: Tensor, k: int = 1000, pairs: str = "within"
) -> Tensor:
    """Compute :func:`lambda_rank_loss` with every pair written out, for tests, reading and other devices."""
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
    losses = functional.softplus(scores[..., None, :] - scores[..., :top, None]) / math.log(2)
    return (weight.detach() * losses).sum(dim=(-1, -2))


def lambda_rank_loss(scores: Tensor, relevance: Tensor, mask: Tensor, k: int = 1000, pairs: str = "within") -> Tensor:
    """Return the pairwise logistic loss of every label's token ranking, weighted by the change of nDCG@K by a swap.

    ``Σ_{j,h: r_j > r_h} |ΔnDCG@K|_{jh} · log2(1 + exp(s_h − s_j))`` with gain ``2^r − 1``, discount
    ``1/log2(1 + rank)``, rank = place when the pair's tokens are sorted by s, ``|ΔnDCG| = |gain_j − gain_h| ·
    |disc_j − disc_h| / IDCG@K``. No gradient flows through the weight.

    Args:
        scores: (B, M, T) attention scores s, logits or probabilities.
        relevance: (B, M, T) r in [0, 1].
        mask: (B, T) bool, true on real tokens.
        k: K ≥ 1; the K positions of the document with the highest r form the set T_l. Never more than it has.
        pairs: ``within`` (both tokens in T_l, the paper) or ``top_vs_all`` (only the better one).

    Returns:
        (B, M) loss, ≥ 0, in bits. Ties in r make no pair; a label none of whose tokens is here (IDCG = 0) gives 0;
        padding changes nothing. Of equal r the earlier position comes first into T_l; of equal s the higher r ranks
        first.

    The pairs are never held; the backward pass only scales the stored gradient. On a GPU Triton computes this where it
    works, else the reference; see :mod:`.triton_choice`.

    Source: PLANT, Equation 2, with σ = 1; Burges 2010 (LambdaMART) for the weight.
    """
    if scores.device.type != "cpu" and not takes_triton(scores.device, where_auto=True):
        return ranking_loss_reference(scores, relevance, mask, k, pairs)
    losses: Tensor = _RankingLoss.apply(scores, relevance, mask, k, pairs)
    return losses


class _RankingLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context[None], scores: Tensor, relevance: Tensor, mask: Tensor, k: int, pairs: str) -> Tensor:
        rows = ranking_rows
        if scores.device.type != "cpu":
            from plant_plugin.networks.kernels.ranking_loss_triton import ranking_rows as rows
        kind = torch.float64 if scores.dtype == torch.float64 else torch.float32
        flat, related = (part.detach().to(kind).flatten(0, 1).contiguous() for part in (scores, relevance))
        losses, gradients = rows(flat, related, mask, k, pairs == "top_vs_all")
        ctx.save_for_backward(gradients.view(scores.shape))
        return losses.view(scores.shape[:-1]).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context[None], *arriving: Tensor) -> tuple[Tensor | None, ...]:
        (gradients,) = ctx.saved_tensors
        return (arriving[0][..., None] * gradients).to(arriving[0].dtype), None, None, None, None


def discount(rank: Tensor, like: Tensor) -> Tensor:
    """Return 1/log2(1 + rank) in the type of ``like``; ranks count from 1."""
    return 1 / torch.log2(1 + rank.to(like.dtype))


def _ranks(scores: Tensor, real: Tensor) -> Tensor:
    """Return the place (from 1) of each token when real tokens are sorted by score, highest first; padding is last."""
    order = scores.detach().masked_fill(~real, float("-inf")).sort(dim=-1, descending=True, stable=True).indices
    return order.argsort(dim=-1) + 1


def descending(values: np.ndarray) -> npt.NDArray[np.int64]:
    """Return the order (R, T) of each row, highest first, ties by position; NaN, of any sign, is as low as −∞.

    Of float32 the value and its position are packed into one integer, which NumPy sorts five to ten times as fast.
    """
    values = np.fmax(values, -np.inf)
    if values.dtype != np.float32:
        return np.argsort(-values, axis=-1, kind="stable")
    bits = (values + np.float32(0)).view(np.int32)  # −0 becomes 0
    ascending = bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))  # integers in the order of the numbers
    keys = (~ascending).astype(np.int64) << 32 | np.arange(values.shape[-1])
    keys.sort(axis=-1)
    return keys & 0xFFFFFFFF


def ranking_rows(scores: Tensor, relevance: Tensor, mask: Tensor, k: int, every: bool) -> tuple[Tensor, Tensor]:
    """Compute :func:`.ranking_loss_triton.ranking_rows` by compiled loops on a CPU, whose threads share the rows."""
    from plant_plugin.networks.kernels.compiled import add_ranking_rows

    scored, related, reals = (part.numpy() for part in (scores, relevance, mask))
    rows, labels, kind = len(scored), len(scored) // max(1, len(reals)), scored.dtype.type
    losses, gradients = np.zeros(rows, scored.dtype), np.zeros_like(scored)
    table = (1 / np.log2(np.arange(2, scored.shape[1] + 2))).astype(scored.dtype)

    def work(start: int) -> None:
        part = slice(start, min(rows, start + ROWS_AT_ONCE))
        real = reals[np.arange(part.start, part.stop) // labels]
        known = np.where(real, np.maximum(related[part], 0), kind(-1))
        order = descending(known)
        order = order if every else np.ascontiguousarray(order[:, :k])
        sorted_relevance = np.take_along_axis(known, order, axis=-1)
        chosen = np.take_along_axis(scored[part], order, axis=-1)
        by_score = descending(np.where(sorted_relevance >= 0, chosen, kind(-np.inf)))
        add_ranking_rows(chosen, sorted_relevance, order, by_score, k, table, losses[part], gradients[part])

    starts = range(0, rows, ROWS_AT_ONCE)
    on_threads(work, starts, len(starts))
    return torch.from_numpy(losses), torch.from_numpy(gradients)
