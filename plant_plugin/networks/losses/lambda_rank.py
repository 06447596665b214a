"""Stage 1: attention as a learning-to-rank module (method §3).

Shape key: **B** documents · **M** chosen labels of a document · **T** token positions · **K** tokens that form pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from plant_plugin.networks.kernels.ranking_loss import discount, ranking_loss


def lambda_rank_loss(
    scores: Tensor, relevance: Tensor, mask: Tensor, k: int = 1000, sigma: float = 1.0, pairs: str = "within"
) -> Tensor:
    """Pairwise logistic loss of every label's token ranking, each pair weighted by what swapping it changes in nDCG@K.

    ``Σ_{j,h: r_j > r_h} |ΔnDCG@K|_{jh} · log2(1 + exp(−σ (s_j − s_h)))`` with gain ``2^r − 1``, discount
    ``1/log2(1 + rank)``, rank = place when the pair's tokens are sorted by s, ``|ΔnDCG| = |gain_j − gain_h| ·
    |disc_j − disc_h| / IDCG@K``. No gradient flows through the weight.

    Args:
        scores: (B, M, T) attention scores s, logits or probabilities.
        relevance: (B, M, T) r in [0, 1].
        mask: (B, T) bool, true on real tokens.
        k: K ≥ 1; the K positions of the document with the highest r form the set T_l. Never more than it has.
        sigma: σ > 0.
        pairs: ``within`` (both tokens in T_l, the paper) or ``top_vs_all`` (only the better one).

    Returns:
        (B, M) loss, ≥ 0, in bits. Ties in r make no pair; a label none of whose tokens is here (IDCG = 0) gives 0;
        padding changes nothing. Of equal r the earlier position comes first into T_l; of equal s the higher r ranks
        first. All pairs count, none is ever stored: :mod:`plant_plugin.networks.kernels.ranking_loss`.

    Raises:
        ValueError: ``pairs`` is neither of the two.

    Source: PLANT, Equation 2; Burges 2010 (LambdaMART) for the weight.
    """
    if pairs not in ("within", "top_vs_all"):
        raise ValueError(f"pairs must be `within` or `top_vs_all`, not {pairs!r}")
    return ranking_loss(scores, relevance, mask, k, sigma, pairs)


def distribution_mse_loss(attention: Tensor, relevance: Tensor, mask: Tensor) -> Tensor:
    """Mean squared difference between the attention and the relevance made a distribution: the ablation of the ranking.

    Args:
        attention: (B, M, T) softmax over tokens.
        relevance: (B, M, T) r in [0, 1].
        mask: (B, T) bool, true on real tokens.

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
    """nDCG@K of a ranking of all the document's tokens against their relevance.

    Args:
        scores: (B, M, T) attention scores; ties are broken by position.
        relevance: (B, M, T) r in [0, 1]; the gain is 2^r − 1.
        mask: (B, T) bool.
        k: K ≥ 1; never more than the document has.

    Returns:
        (B, M) in [0, 1]; NaN where IDCG = 0 (nothing to rank), so that a mean can leave it out.
    """
    padding = ~mask[:, None, :]
    gains = (torch.exp2(relevance) - 1).masked_fill(padding, 0.0)
    count = min(k, scores.shape[-1])
    discounts = discount(torch.arange(1, count + 1, device=scores.device), scores)
    order = scores.masked_fill(padding, float("-inf")).sort(dim=-1, descending=True, stable=True).indices[..., :count]
    found = (gains.gather(-1, order) * discounts).sum(-1)
    ideal = (gains.topk(count, dim=-1).values * discounts).sum(-1)
    return torch.where(ideal > 0, found / ideal, torch.full_like(ideal, float("nan")))
