"""The ranking loss of stage 1, value and gradient in one pass, beside a plain reference.

Shape key: **B** documents · **M** labels of a document · **T** token positions · **K** tokens that form pairs.

The plain way makes (B, M, K, K) tensors, a dozen of them: 140 GB for one document with 8,930 labels and K = 2000. Here
a pair exists only while it is added up, so memory is that of the scores. Exact: every pair of the formula is counted.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from plant_plugin.networks.kernels.ranking_pairs import ranking_rows
from plant_plugin.networks.kernels.triton_choice import takes_triton

# Up to here torch may write the pairs out on a GPU: about 3 GiB, a dozen float32 tensors of this size.
PAIRS_WRITTEN_OUT = 2**26


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
