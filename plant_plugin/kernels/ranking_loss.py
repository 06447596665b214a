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

from plant_plugin.kernels.ranking_pairs import ranking_rows


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

    Arguments as in :func:`ranking_loss_reference`, which also computes on devices other than CPUs.

    Returns:
        (B, M) loss, ≥ 0, in bits, in the type of ``scores``; the backward pass only scales the stored gradient.

    Source: PLANT, Equation 2; Burges 2010 (LambdaMART) for the weight.
    """
    if scores.device.type != "cpu":
        return ranking_loss_reference(scores, relevance, mask, k, sigma, pairs)
    found: Tensor = _RankingLoss.apply(scores, relevance, mask, k, sigma, pairs)
    return found


class _RankingLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, relevance: Tensor, mask: Tensor, k: int, sigma: float, pairs: str) -> Tensor:
        kind = torch.float64 if scores.dtype == torch.float64 else torch.float32
        flat, related = (part.to(kind).flatten(0, 1).contiguous().numpy() for part in (scores, relevance))
        threads = torch.get_num_threads()
        losses, gradients = ranking_rows(flat, related, mask.numpy(), k, sigma, pairs == "top_vs_all", threads)
        ctx.save_for_backward(torch.from_numpy(gradients).view(scores.shape))
        return torch.from_numpy(losses).view(scores.shape[:-1]).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *arriving: Tensor) -> Any:
        (gradients,) = ctx.saved_tensors
        return (arriving[0][..., None] * gradients).to(arriving[0].dtype), None, None, None, None, None


def discount(rank: Tensor, like: Tensor) -> Tensor:
    """1/log2(1 + rank) in the type of ``like``; ranks count from 1."""
    return 1 / torch.log2(1 + rank.to(like.dtype))


def _ranks(scores: Tensor, real: Tensor) -> Tensor:
    """Place (from 1) of each token when real tokens are sorted by score, highest first; padding comes last."""
    order = scores.detach().masked_fill(~real, float("-inf")).sort(dim=-1, descending=True, stable=True).indices
    places = torch.arange(1, scores.shape[-1] + 1, device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, places)
