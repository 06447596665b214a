"""Stage 2: focal loss with label smoothing, its asymmetric form, and hard negatives (method §4).

Shape key: **B** documents · **L** labels · **M** chosen labels of a document.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

MARGIN = 0.05  # taken off the probability of negatives by the asymmetric loss, as in its paper


def focal_loss(logits: Tensor, target: Tensor, gamma: float = 2.0, label_smoothing: float = 0.1) -> Tensor:
    """Focal loss of every (document, label) pair, from logits.

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
    """Binary cross entropy of every pair; the same call as :func:`focal_loss`, whose γ it does not have."""
    return focal_loss(logits, target, gamma=0.0, label_smoothing=label_smoothing)


def asymmetric_loss(logits: Tensor, target: Tensor, gamma: float = 4.0, label_smoothing: float = 0.0) -> Tensor:
    """Focal loss of negatives alone, and none for those that are improbable already: positives keep their whole weight.

    ``q = max(p − 0.05, 0)``; ``loss = −[ỹ ln p + (1−ỹ) q^γ ln(1−q)]`` with p and ỹ as in :func:`focal_loss`.

    Args:
        logits: Any shape, real numbers.
        target: The same shape, 0 or 1.
        gamma: γ ≥ 0; how much well-classified negatives are damped; 4 in the paper.
        label_smoothing: ε in [0, 1); 0 in the paper.

    Returns:
        The loss of each pair in nats, the shape of ``logits``; finite for every finite logit.

    Source: Ridnik et al. 2021, "Asymmetric Loss For Multi-Label Classification", equations 5 to 7 with γ₊ = 0.
    """
    smooth = target * (1 - 2 * label_smoothing) + label_smoothing
    # Not 0: the slope of q^γ is infinite there if γ < 1, and infinite times the clamp's 0 is no number.
    shifted = (logits.sigmoid() - MARGIN).clamp(min=1e-8)
    return -(smooth * functional.logsigmoid(logits) + (1 - smooth) * shifted**gamma * torch.log1p(-shifted))


def hard_negatives(scores: Tensor, positives: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The labels that a document's loss is summed over: its positives and its ``count`` highest negatives.

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

    Args:
        losses: (B, M) in nats.
        chosen: (B, M) bool.
        num_labels: L.
        reduction: ``selected`` or ``labels`` (the paper divides by L; a constant factor).

    Returns:
        A scalar; 0 for a document without chosen labels.
    """
    total = (losses * chosen).sum(dim=1)
    if reduction == "labels":
        return (total / num_labels).mean()
    return (total / chosen.sum(dim=1).clamp(min=1)).mean()
