"""How time and memory grow along L, T and K: the table gives the slope on logarithmic axes (1: proportional)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.networks.kernels.ranking_loss import ranking_loss
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import Hidden


def sizes(along: str, values: list[int]) -> list[tuple[str, int]]:
    return [(along, value) for value in values]


@pytest.mark.parametrize(("along", "size"), sizes("L", [2000, 8000, 32000]) + sizes("T", [128, 512, 2048]))
def test_label_attention(measure: Callable[..., Any], along: str, size: int) -> None:
    shape = {"L": 4000, "T": 400} | {along: size}
    torch.manual_seed(0)
    head = LabelAttentionHead(128, shape["L"], num_heads=1)
    states = torch.randn(4, shape["T"], 128, requires_grad=True)
    hidden = Hidden(states, torch.ones(states.shape[:2], dtype=torch.bool))

    def step() -> None:
        head.zero_grad()
        head(hidden).sum().backward()

    measure(
        "label attention, forward and backward (B=4 H=128, L=4000, T=400)", "plant_plugin", step, along=along, size=size
    )


@pytest.mark.parametrize(("along", "size"), sizes("L", [64, 256, 1024]) + sizes("K", [125, 500, 2000]))
def test_ranking_loss(measure: Callable[..., Any], along: str, size: int) -> None:
    shape = {"L": 64, "K": 500} | {along: size}
    torch.manual_seed(0)
    scores = torch.randn(1, shape["L"], 2048, requires_grad=True)
    relevance, mask = torch.rand(scores.shape), torch.ones(1, 2048, dtype=torch.bool)
    ranking_loss(scores[:, :1], relevance[:, :1], mask, 5)

    def step() -> None:
        scores.grad = None
        ranking_loss(scores, relevance, mask, shape["K"]).sum().backward()

    measure("ranking loss, value and gradient (L=64, T=2048, K=500)", "plant_plugin", step, along=along, size=size)
