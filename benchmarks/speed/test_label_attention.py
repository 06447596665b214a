"""Label attention in blocks against the dense way, forward and backward, at the size of EURLEX-6K.

    python -m pytest benchmarks/speed -o addopts= --benchmark-only

Read the ratio of the two within one run; the machines are shared and single times mean little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from plant_plugin.kernels.label_attention import PriorLookup, label_attention_logits, label_attention_reference

DOCUMENTS, POSITIONS, LABELS, TYPES = 16, 400, 2632, 1700


@pytest.mark.parametrize(("heads", "hidden"), [(1, 128), (4, 256)])
@pytest.mark.parametrize("way", [label_attention_reference, label_attention_logits])
def test_forward_and_backward(benchmark: Any, way: Callable[..., torch.Tensor], heads: int, hidden: int) -> None:
    torch.manual_seed(0)
    width = hidden // heads
    per_label = [torch.randn(LABELS, heads, width, requires_grad=True) for _ in range(2)]
    per_position = [torch.randn(DOCUMENTS, POSITIONS, heads, width, requires_grad=True) for _ in range(2)]
    mask = torch.ones(DOCUMENTS, POSITIONS, dtype=torch.bool)
    prior = PriorLookup(torch.rand(LABELS, TYPES), torch.randint(0, TYPES, (DOCUMENTS, POSITIONS)))
    strength = torch.full((LABELS, heads), 4.0, requires_grad=True)

    def step() -> None:
        logits = way(per_label[0] / width**0.5, *per_position, per_label[1], mask, prior, strength)
        logits.sum().backward()

    benchmark.pedantic(step, rounds=3, warmup_rounds=1)
