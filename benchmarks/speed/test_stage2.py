"""The head in a step of stage 2: a gradient for the selected labels against a gradient for all labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.losses import focal_loss, hard_negatives, reduce_selected
from plant_plugin.networks.plantable import Hidden

# documents, positions, width, labels, hard negatives
SIZES = [(8, 400, 128, 30938, 1000), (16, 400, 128, 2632, 200)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("way", ["all labels", "plant_plugin"])
def test_step(measure: Callable[..., Any], size: tuple[int, ...], way: str) -> None:
    documents, positions, width, labels, count = size
    torch.manual_seed(0)
    head = LabelAttentionHead(width, labels, num_heads=1)
    states = torch.randn(documents, positions, width, requires_grad=True)
    hidden = Hidden(states, torch.ones(documents, positions, dtype=torch.bool))
    positives = torch.zeros(documents, labels, dtype=torch.bool)
    positives.scatter_(1, torch.randint(labels, (documents, 5)), True)

    def step() -> None:
        states.grad = None
        head.zero_grad()
        if way == "all labels":
            scores = head(hidden)
            chosen, real = hard_negatives(scores.detach(), positives, count)
            logits = scores.gather(1, chosen)
        else:
            with torch.no_grad():
                scores = head(hidden)
            chosen, real = hard_negatives(scores, positives, count)
            logits = head.selected_logits(hidden, chosen)
        losses = focal_loss(logits, positives.gather(1, chosen).float())
        reduce_selected(losses, real, labels, "selected").backward()

    name = f"stage 2, head and loss: B={documents} A=1 T={positions} H={width} L={labels:,} m={count:,}"
    measure(name, way, step)
