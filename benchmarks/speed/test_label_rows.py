"""An optimiser step of the head with shortlists: all rows of the label tables, or those that the step touches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import Hidden
from plant_plugin.training.rows import RowAdamW, clip_norm

LABELS = (16_000, 100_000, 670_000)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("way", ["all rows", "plant_plugin"])
def test_step(measure: Callable[..., Any], labels: int, way: str) -> None:
    """Every call has other labels, so that moments of many rows are there."""
    documents, positions, width, size = 32, 150, 128, 100
    torch.manual_seed(0)
    head = LabelAttentionHead(width, labels, num_heads=1)
    head.touched_rows = way == "plant_plugin"
    plain = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    optimizer = RowAdamW(head.parameters(), lr=1e-3, weight_decay=0.01, fused=True) if head.touched_rows else plain
    hidden = Hidden(torch.randn(documents, positions, width), torch.ones(documents, positions, dtype=torch.bool))

    def step() -> None:
        optimizer.zero_grad()
        head.selected_logits(hidden, torch.randint(labels, (documents, size))).square().mean().backward()
        clip_norm(head.parameters(), 1.0)
        optimizer.step()

    name = "an optimiser step of the head, shortlists (B=32 A=1 T=150 H=128 S=100)"
    measure(f"{name}: L={labels:,}", way, step)
