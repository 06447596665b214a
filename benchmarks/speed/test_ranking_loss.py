"""The ranking loss of stage 1, value and gradient, against every pair written out.

The written-out way holds a dozen tensors of documents × labels × K × K. The issue's 8 documents would take it 25 GB, so
both ways run on one document here; both grow linearly along documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss, ranking_loss_reference

# pairs, documents, labels, positions, K, share of relevance that is zero
SIZES = [("within", 1, 256, 512, 500, 0.0), ("within", 1, 256, 512, 500, 0.8), ("top_vs_all", 16, 64, 400, 20, 0.8)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("way", ["formula", "plant_plugin"])
def test_value_and_gradient(measure: Callable[..., Any], size: tuple[Any, ...], way: str) -> None:
    pairs, documents, labels, positions, k, zeros = size
    torch.manual_seed(0)
    scores = (2 * torch.randn(documents, labels, positions)).requires_grad_()
    relevance = torch.rand(documents, labels, positions) * (torch.rand(documents, labels, positions) >= zeros)
    mask = torch.ones(documents, positions, dtype=torch.bool)
    loss = {"formula": ranking_loss_reference, "plant_plugin": lambda_rank_loss}[way]
    lambda_rank_loss(scores[:, :1], relevance[:, :1], mask, k, pairs)  # compiled once per machine, then cached

    def step() -> None:
        scores.grad = None
        loss(scores, relevance, mask, k, pairs).sum().backward()

    name = f"ranking loss, value and gradient: {pairs} K={k}, {documents} × {labels} labels, T={positions}"
    measure(f"{name}, {zeros:.0%} of relevance zero", way, step)
