"""Sizes of language models over MIMIC's codes, and of words over a few thousand labels: skipped without a GPU.

Triton is what is compared; `torch` is the same head with torch's operations, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from libmultilabel.nn.networks.modules import LabelwiseLinearOutput, LabelwiseMultiHeadAttention

from plant_plugin.networks.kernels import triton_choice
from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.losses import focal_loss, hard_negatives, reduce_selected
from plant_plugin.networks.plantable import Hidden

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
NARROW = torch.bfloat16


@pytest.fixture(autouse=True)
def _auto_afterwards() -> Iterator[None]:
    yield
    triton_choice.choose("auto")


def on(case: str) -> str:
    return f"{case}, {torch.cuda.get_device_name()}"


@pytest.mark.parametrize("kind", [NARROW, torch.float32], ids=["bf16", "fp32"])
@pytest.mark.parametrize("shape", [(8, 8, 1024, 1024, 30_938), (16, 1, 1200, 128, 2600)], ids=["language", "words"])
@pytest.mark.parametrize("way", ["LibMultiLabel", "two products", "torch", "plant_plugin"])
def test_label_attention(
    measure: Callable[..., Any], way: str, shape: tuple[int, int, int, int, int], kind: torch.dtype
) -> None:
    documents, heads, positions, width, labels = shape
    torch.manual_seed(0)
    with torch.device("cuda"):
        states = torch.randn(documents, positions, width, requires_grad=True)
        attention = LabelwiseMultiHeadAttention(width, labels, heads)
        output = LabelwiseLinearOutput(width, labels)
        head = LabelAttentionHead(width, labels, num_heads=heads, pool_size=128)
        hidden = Hidden(states, torch.ones(documents, positions, dtype=torch.bool))
        rows = torch.randn(heads, labels, width // heads, dtype=kind)
        columns = torch.randn(heads, width // heads, documents * positions, dtype=kind)
    triton_choice.choose("triton" if way == "plant_plugin" else "torch")

    def step() -> None:
        for parameter in (states, *attention.parameters(), *output.parameters(), *head.parameters()):
            parameter.grad = None
        if way == "two products":  # what no way can do without; forward only
            for _ in range(2):
                torch.bmm(rows, columns)
            return
        with torch.autocast("cuda", NARROW, enabled=kind == NARROW):
            logits = output(attention(states)[0]) if way == "LibMultiLabel" else head(hidden)
        logits.float().sum().backward()

    sizes = f"B={documents} A={heads} T={positions} H={width} L={labels:,}"
    named = "bf16" if kind == NARROW else "fp32"
    measure(on(f"label attention, forward and backward: {sizes} {named}"), way, step, on_gpu=True)


@pytest.mark.parametrize("way", ["all labels", "plant_plugin"])
@pytest.mark.parametrize("kernels", ["torch", "triton"])
def test_stage2_step(measure: Callable[..., Any], kernels: str, way: str) -> None:
    documents, positions, width, labels, count = 8, 1024, 1024, 30_938, 1000
    torch.manual_seed(0)
    with torch.device("cuda"):
        head = LabelAttentionHead(width, labels, num_heads=8)
        states = torch.randn(documents, positions, width, requires_grad=True)
        hidden = Hidden(states, torch.ones(documents, positions, dtype=torch.bool))
        positives = torch.zeros(documents, labels, dtype=torch.bool)
        positives.scatter_(1, torch.randint(labels, (documents, 15)), True)
    triton_choice.choose(kernels)

    def step() -> None:
        states.grad = None
        head.zero_grad()
        gathered = way == "all labels"
        with torch.autocast("cuda", NARROW), torch.set_grad_enabled(gathered):
            scores = head(hidden)
        chosen, real = hard_negatives(scores.detach(), positives, count)
        with torch.autocast("cuda", NARROW):
            logits = scores.gather(1, chosen) if gathered else head.selected_logits(hidden, chosen)
        losses = focal_loss(logits, positives.gather(1, chosen).float())
        reduce_selected(losses, real, labels, "selected").backward()

    name = f"stage 2, head and loss: B={documents} A=8 T={positions} H={width} L={labels:,} m={count:,} bf16, {kernels}"
    measure(on(name), way, step, on_gpu=True)


@pytest.mark.parametrize("way", ["torch", "plant_plugin"])
@pytest.mark.parametrize(
    ("documents", "labels", "positions", "k", "pairs"),
    [(8, 8930, 2048, 2000, "within"), (8, 256, 2500, 500, "within"), (16, 64, 1200, 20, "top_vs_all")],
)
def test_ranking_loss(
    measure: Callable[..., Any], way: str, documents: int, labels: int, positions: int, k: int, pairs: str
) -> None:
    if way == "torch" and documents * labels * k**2 > 2**32:
        pytest.skip("torch would write out more pairs than the memory holds")
    torch.manual_seed(0)
    scores = (2 * torch.randn(documents, labels, positions, device="cuda")).requires_grad_()
    relevance = torch.rand(documents, labels, positions, device="cuda")
    mask = torch.ones(documents, positions, dtype=torch.bool, device="cuda")
    triton_choice.choose("triton" if way == "plant_plugin" else "torch")

    def step() -> None:
        scores.grad = None
        lambda_rank_loss(scores, relevance, mask, k, pairs).sum().backward()

    name = f"ranking loss, value and gradient: {pairs} K={k}, {documents} × {labels:,} labels, T={positions}"
    measure(on(name), way, step, on_gpu=True)
