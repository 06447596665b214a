"""Label attention to logits, forward and backward, against LibMultiLabel's module and the formula written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libmultilabel.nn.networks.modules import LabelwiseAttention, LabelwiseLinearOutput, LabelwiseMultiHeadAttention
from paper_head import reference_logits
from torch import nn

from plant_plugin.networks.kernels import block_size
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import Hidden

# documents, heads, positions, width, labels: issue's bar, and the size of EURLEX-6K
SIZES = [(8, 8, 512, 256, 4271), (16, 1, 400, 128, 2632)]


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("way", ["LibMultiLabel", "formula", "plant_plugin"])
def test_forward_and_backward(measure: Callable[..., Any], size: tuple[int, ...], way: str) -> None:
    documents, heads, positions, width, labels = size
    torch.manual_seed(0)
    states = torch.randn(documents, positions, width, requires_grad=True)
    output = LabelwiseLinearOutput(width, labels)
    attention: nn.Module
    if heads == 1:
        attention = LabelwiseAttention(width, labels)
    else:
        attention = LabelwiseMultiHeadAttention(width, labels, heads)
    head = LabelAttentionHead(width, labels, num_heads=heads, pool_size=min(width, 128))
    hidden = Hidden(states, torch.ones(documents, positions, dtype=torch.bool))
    ways = {
        "LibMultiLabel": lambda: output(attention(states)[0]),
        "formula": lambda: reference_logits(head, hidden),
        "plant_plugin": lambda: head(hidden),
    }

    def step() -> None:
        for parameter in (states, *attention.parameters(), *output.parameters(), *head.parameters()):
            parameter.grad = None
        ways[way]().sum().backward()

    name = f"label attention, forward and backward: B={documents} A={heads} T={positions} H={width} L={labels:,}"
    measure(name, way, step)


@pytest.mark.parametrize("positions", [8_000, 20_000])
@pytest.mark.parametrize("way", ["as many scores as for short ones", "plant_plugin"])
def test_long_documents(measure: Callable[..., Any], positions: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way != "plant_plugin":
        monkeypatch.setattr(block_size, "TIMES", 1)
    torch.manual_seed(0)
    states = torch.randn(1, positions, 128, requires_grad=True)
    head = LabelAttentionHead(128, 1000)
    hidden = Hidden(states, torch.ones(1, positions, dtype=torch.bool))

    def step() -> None:
        for parameter in (states, *head.parameters()):
            parameter.grad = None
        head(hidden).sum().backward()

    measure(f"blocks of labels, forward and backward: T={positions:,} H=128 L=1,000", way, step)
