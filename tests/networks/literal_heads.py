"""Attention and logits of heads written out document by document, for the tests of their formulas."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.plantable import Hidden

LABELS = 5


def hidden_states(width: int) -> tuple[Hidden, Tensor]:
    """Random states of two documents with a prior, and its relevance (L, B, T) written out."""
    torch.manual_seed(2)
    mask = torch.arange(4) < torch.tensor([4, 2])[:, None]
    prior = PriorLookup(torch.rand(LABELS, 3, dtype=torch.float64), torch.randint(0, 3, (2, 4)))
    return Hidden(torch.randn(2, 4, width, dtype=torch.float64), mask, prior), prior.table[:, prior.columns]


def softmax(scores: list[float]) -> list[float]:
    total = sum(math.exp(score) for score in scores)
    return [math.exp(score) / total for score in scores]


@torch.no_grad()
def literally(hidden: Hidden, score: Callable[[int, int, int], float], read: Callable[[int, Tensor], float]) -> Tensor:
    """Logits (B, L): per document and label a softmax over real tokens and what the label reads from the mean."""
    logits = torch.zeros(2, LABELS, dtype=torch.float64)
    for document in range(2):
        real = int(hidden.mask[document].sum())
        for label in range(LABELS):
            attention = softmax([score(document, label, token) for token in range(real)])
            mean = sum(weight * hidden.states[document, token] for token, weight in enumerate(attention))
            assert isinstance(mean, Tensor)
            logits[document, label] = read(label, mean)
    return logits
