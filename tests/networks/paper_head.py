"""The head of PLANT as the paper writes it."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import Hidden


def reference_logits(head: LabelAttentionHead, hidden: Hidden) -> Tensor:
    """Return the logits (B, L) as the paper writes them: dense attention, boost, pool, linear."""
    states = hidden.states
    queries = head.query(head.label_embeddings).unflatten(-1, (head.num_heads, -1))  # (L, A, D)
    keys = head.key(states).unflatten(-1, (head.num_heads, -1))  # (B, T, A, D)
    values = head.value(states).unflatten(-1, (head.num_heads, -1))
    scores = torch.einsum("lad,btad->balt", queries, keys) / math.sqrt(queries.shape[-1])
    if hidden.prior is not None and head.prior_strength is not None:
        scores = scores + torch.einsum("la,lbt->balt", head.prior_strength, hidden.prior.everywhere())
    attention = scores.masked_fill(~hidden.mask[:, None, None, :], float("-inf")).softmax(dim=-1)  # (B, A, L, T)
    attended = head.merge(torch.einsum("balt,btad->blad", attention, values).flatten(2))  # (B, L, H)
    boosted = head.boost_add / head.hidden_size + attended * head.boost_multiply
    pooled = functional.adaptive_avg_pool1d(boosted, head.classifier.numel())  # (B, L, P)
    return pooled @ head.classifier
