"""The heads of PLM-CA and of PlantedPLMCA against their formula."""

from __future__ import annotations

import pytest
import torch
from literal_heads import LABELS, hidden_states, literally
from torch import Tensor, nn

from plant_plugin.networks import language_baselines
from plant_plugin.networks.language_baselines import CrossAttentionHead
from plant_plugin.networks.planted_plm_ca import OwnOutputsHead


@pytest.mark.parametrize("head_class", [CrossAttentionHead, OwnOutputsHead])
@pytest.mark.parametrize("block_elements", [1, 40, 2**22])
def test_cross_attention_head_is_the_formula_of_plm_ca(
    monkeypatch: pytest.MonkeyPatch, head_class: type[CrossAttentionHead], block_elements: int
) -> None:
    monkeypatch.setattr(language_baselines, "BLOCK_ELEMENTS", block_elements)
    hidden, relevance = hidden_states(4)
    head = head_class(4, LABELS, prior_strength=2.0).double()
    for parameter in (head.norm.weight, head.norm.bias, head.output.weight, head.output.bias):
        nn.init.normal_(parameter)

    def score(document: int, label: int, token: int) -> float:
        key = head.key.weight @ hidden.states[document, token]
        return float(head.label_embeddings[label] @ key + 2.0 * relevance[label, document, token])

    def read(label: int, mean: Tensor) -> float:
        value = head.value.weight @ mean + head.value.bias
        centred = value - value.mean()
        normal = centred / (centred.square().mean() + head.norm.eps).sqrt() * head.norm.weight + head.norm.bias
        output = head.output.weight[label if len(head.output.weight) > 1 else 0]
        return float(output @ normal + head.output.bias[0])

    logits = head(hidden)
    torch.testing.assert_close(logits, literally(hidden, score, read))
    everything = torch.arange(LABELS).expand(2, -1)
    parameters = [parameter for parameter in head.parameters()]
    for one, other in zip(
        torch.autograd.grad(logits.square().sum(), parameters),
        torch.autograd.grad(head.selected_logits(hidden, everything).square().sum(), parameters),
        strict=True,
    ):
        torch.testing.assert_close(one, other)
