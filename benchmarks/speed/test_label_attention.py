"""Label attention to logits, forward and backward, against LibMultiLabel's module and the formula written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libmultilabel.nn.networks.modules import LabelwiseAttention, LabelwiseLinearOutput, LabelwiseMultiHeadAttention
from paper_head import reference_logits
from torch import nn

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
