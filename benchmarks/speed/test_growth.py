"""How time and memory grow along L, T and K: the table gives the slope on logarithmic axes (1: proportional)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.l2r.network import PLANTL2R
from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss
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
    lambda_rank_loss(scores[:, :1], relevance[:, :1], mask, 5)

    def step() -> None:
        scores.grad = None
        lambda_rank_loss(scores, relevance, mask, shape["K"]).sum().backward()

    measure("ranking loss, value and gradient (L=64, T=2048, K=500)", "plant_plugin", step, along=along, size=size)


@pytest.mark.parametrize("size", [2000, 6000, 20000])
@pytest.mark.parametrize("way", ["training, gradient to the last 20 segments", "prediction"])
def test_first_plant(measure: Callable[..., Any], way: str, size: int) -> None:
    torch.manual_seed(0)
    options = {"hidden_size": 256, "num_layers": 2, "ranker_size": 64, "ranker_hidden": 64, "inattention": 20}
    network = PLANTL2R(50, torch.randn(2000, 128), segment_tokens=72, gradient_segments=20, static=0.0, **options)

    def step(tokens: int = size) -> None:
        text = torch.randint(3, 2000, (1, tokens))
        batch = {"text": text, "length": torch.tensor([tokens]), "mask": torch.ones_like(text, dtype=torch.bool)}
        network.zero_grad()
        with torch.set_grad_enabled(way != "prediction"):
            logits = network.train(way != "prediction")(batch)["logits"]
        if logits.requires_grad:
            logits.sum().backward()

    step(100)  # what is compiled and loaded on first use does not grow
    measure(f"PLANTL2R, {way} (B=1 H=256 L=50)", "plant_plugin", step, along="T", size=size)
