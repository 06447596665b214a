"""Losses of the two stages: attention as a learning-to-rank module (method §3), then the labels (method §4).

Shape key: **B** documents · **L** labels · **M** chosen labels of a document · **T** token positions · **K** tokens
that form pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from plant_plugin.networks.kernels.ranking_loss import discount

# Scoring all labels without a gradient and the chosen ones again with one costs less than a gradient for all of them
# where at most this share of the labels is chosen. Measured on a core with one head: 2.1 times as fast at a share of
# 0.08 (L = 2,632), 1.2 at 0.38, 3.0 at 0.03 (L = 30,938).
WORTH_SELECTING = 0.5
MARGIN = 0.05  # taken off the probability of negatives by the asymmetric loss, as in its paper


def distribution_mse_loss(attention: Tensor, relevance: Tensor, mask: Tensor) -> Tensor:
    """Return the mean squared difference between attention and normalised relevance: the ablation of the ranking.

    The attention S is (B, M, T), a softmax over tokens; all else as of :func:`.lambda_rank_loss`.

    Returns:
        (B, M) mean over the document's tokens of (S − r/Σr)²; 0 for a label none of whose tokens is here.

    Source: method §3, ablation ``loss: mse``.
    """
    relevance = relevance * mask[:, None, :]
    total = relevance.sum(dim=-1, keepdim=True)
    difference = (attention - relevance / total.clamp(min=1e-12)) * mask[:, None, :]
    mean = difference.square().sum(dim=-1) / mask.sum(dim=-1).clamp(min=1)[:, None]
    return mean * (total[..., 0] > 0)


def attention_ndcg(scores: Tensor, relevance: Tensor, mask: Tensor, k: int) -> Tensor:
    """Return the nDCG@K of a ranking of all the document's tokens against their relevance.

    Arguments as of :func:`.lambda_rank_loss`; ties of scores are broken by position, and the gain is 2^r − 1.

    Returns:
        (B, M) in [0, 1]; NaN where IDCG = 0 (nothing to rank), so that a mean can leave it out.
    """
    padding = ~mask[:, None, :]
    gains = (torch.exp2(relevance) - 1).masked_fill(padding, 0.0)
    count = min(k, scores.shape[-1])
    discounts = discount(torch.arange(1, count + 1, device=scores.device), scores)
    order = scores.masked_fill(padding, float("-inf")).sort(dim=-1, descending=True, stable=True).indices[..., :count]
    gain = (gains.gather(-1, order) * discounts).sum(-1)
    ideal = (gains.topk(count, dim=-1).values * discounts).sum(-1)
    return torch.where(ideal > 0, gain / ideal, torch.full_like(ideal, float("nan")))


def focal_loss(logits: Tensor, target: Tensor, gamma: float = 2.0, label_smoothing: float = 0.1) -> Tensor:
    """Return the focal loss of every (document, label) pair, from logits.

    ``ỹ = 1−ε`` where y = 1 and ``ε`` where y = 0; ``p = sigmoid(logit)``;
    ``loss = −[ỹ (1−p)^γ ln p + (1−ỹ) p^γ ln(1−p)]``. With γ = 0 and ε = 0 it is binary cross entropy.

    Args:
        logits: Any shape, real numbers.
        target: The same shape, 0 or 1.
        gamma: γ ≥ 0; how much well-classified pairs are damped.
        label_smoothing: ε in [0, 1).

    Returns:
        The loss of each pair in nats, the shape of ``logits``; finite for every finite logit.

    Source: PLANT, Appendix A, Equation 3.
    """
    smooth = target * (1 - 2 * label_smoothing) + label_smoothing
    log_positive, log_negative = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    if gamma == 0:
        return -(smooth * log_positive + (1 - smooth) * log_negative)
    positive_weight, negative_weight = (gamma * log_negative).exp(), (gamma * log_positive).exp()
    return -(smooth * positive_weight * log_positive + (1 - smooth) * negative_weight * log_negative)


def binary_cross_entropy_loss(
    logits: Tensor, target: Tensor, gamma: float = 0.0, label_smoothing: float = 0.1
) -> Tensor:
    """Return the binary cross entropy of every pair, by the call of :func:`focal_loss`, whose γ it ignores."""
    return focal_loss(logits, target, gamma=0.0, label_smoothing=label_smoothing)


def asymmetric_loss(logits: Tensor, target: Tensor, gamma: float = 4.0, label_smoothing: float = 0.0) -> Tensor:
    """Return the focal loss of negatives, 0 for those that are improbable already; positives keep their whole weight.

    ``q = max(p − 0.05, 0)``; ``loss = −[ỹ ln p + (1−ỹ) q^γ ln(1−q)]`` with p and ỹ as in :func:`focal_loss`.

    Arguments and result are as there, but γ damps well-classified negatives only; the paper has γ = 4 and ε = 0.

    Source: Ridnik et al. 2021, "Asymmetric Loss For Multi-Label Classification", equations 5 to 7 with γ₊ = 0.
    """
    smooth = target * (1 - 2 * label_smoothing) + label_smoothing
    # Not 0: the slope of q^γ is infinite there if γ < 1, and infinite times the clamp's 0 is no number.
    shifted = (logits.sigmoid() - MARGIN).clamp(min=1e-8)
    return -(smooth * functional.logsigmoid(logits) + (1 - smooth) * shifted**gamma * torch.log1p(-shifted))


def hard_negatives(scores: Tensor, positives: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Choose the labels that a document's loss is summed over: its positives and its ``count`` highest negatives.

    Args:
        scores: (B, L) logits, no gradient needed.
        positives: (B, L) bool.
        count: m ≥ 0 negatives for each document; never more than there are.

    Returns:
        ``labels`` (B, M) ids and ``chosen`` (B, M) bool: M fits the document with the most positives; where others have
        fewer, further negatives fill their rows and ``chosen`` is false there.

    Source: PLANT, section 2, stage 2 (hard negative mining with m = 1000).
    """
    with torch.no_grad():
        wanted = positives.sum(dim=1) + count  # (B,)
        width = min(int(wanted.max()), scores.shape[1])
        order = scores.masked_fill(positives, float("inf")).topk(width, dim=1)  # positives first, then hard negatives
        chosen = torch.arange(width, device=scores.device) < wanted[:, None]
    return order.indices, chosen


def reduce_selected(losses: Tensor, chosen: Tensor, num_labels: int, reduction: str) -> Tensor:
    """Sum over a document's chosen labels ÷ their number (``selected``) or ÷ L (``labels``); mean over documents.

    ``losses`` are (B, M) in nats, ``chosen`` (B, M) bool. A document without chosen labels has 0. The paper divides by
    L, a constant factor.
    """
    total = (losses * chosen).sum(dim=1)
    if reduction == "labels":
        return (total / num_labels).mean()
    return (total / chosen.sum(dim=1).clamp(min=1)).mean()
