"""Label attention to logits, forward and backward, against LibMultiLabel's module and the formula written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from libmultilabel.nn.networks.modules import LabelwiseAttention, LabelwiseLinearOutput, LabelwiseMultiHeadAttention
from paper_head import reference_logits
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from plant_plugin.networks.kernels import block_size
from plant_plugin.networks.kernels.prior import PlantedRelevance
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


class FusedHead(nn.Module):
    """The same logits by torch's own fused attention: (B, A, L, D) attended values, then what each label reads of them.

    ``merged``: as ``nn.MultiheadAttention`` computes it, output projection and boost written out.
    """

    def __init__(self, head: LabelAttentionHead, merged: bool) -> None:
        super().__init__()
        self.head, self.merged = head, merged

    def forward(self, hidden: Hidden) -> Tensor:
        head, states = self.head, hidden.states
        bias = None
        if hidden.prior is not None and head.prior_strength is not None:
            bias = torch.einsum("la,lbt->balt", head.prior_strength, hidden.prior.everywhere())
        by_head = (part.transpose(1, 2) for part in (head.keys(states), head.values(states)))
        queries = head.queries().transpose(0, 1).expand(len(states), -1, -1, -1)
        attended = functional.scaled_dot_product_attention(queries, *by_head, attn_mask=bias, scale=1.0)
        outputs, label_bias = head.outputs()
        if not self.merged:
            return label_bias + torch.einsum("bald,lad->bl", attended, outputs)
        width, weight = head.hidden_size, head.pool @ head.classifier
        boosted = head.merge(attended.transpose(1, 2).flatten(2)) * head.boost_multiply + head.boost_add / width
        return boosted @ weight


FUSED = {"fused attention": False, "nn.MultiheadAttention's": True}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("direction", ["forward", "forward and backward"])
@pytest.mark.parametrize("way", [*FUSED, "plant_plugin"])
def test_fused_attention(
    measure: Callable[..., Any], size: tuple[int, ...], planted: bool, direction: str, way: str
) -> None:
    documents, heads, positions, width, labels = size
    torch.manual_seed(0)
    head = LabelAttentionHead(width, labels, heads, min(width, 128), 1.0 if planted else None)
    network = FusedHead(head, FUSED[way]) if way in FUSED else head
    states = torch.randn(documents, positions, width, requires_grad=True)
    relevance = sparse.random_array((labels, 1500), density=0.03, dtype="float32", random_state=0).tocsr()
    text = torch.randint(0, 1500, (documents, positions))
    prior = PlantedRelevance(relevance).lookup(text) if planted else None
    hidden = Hidden(states, torch.ones(documents, positions, dtype=torch.bool), prior)

    def step() -> None:
        head.zero_grad()
        with torch.set_grad_enabled(direction != "forward"):
            logits = network(hidden)
        if logits.requires_grad:
            logits.sum().backward()

    with torch.no_grad():
        torch.testing.assert_close(network(hidden), head(hidden), rtol=1e-4, atol=1e-5)
    shape = f"B={documents} A={heads} T={positions} H={width} L={labels:,}"
    measure(f"label attention{', prior' if planted else ''}, {direction}: {shape}", way, step, rounds=5)


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
