"""PLM-CA with an output of each label's own, against its formula."""

from __future__ import annotations

import pytest
import torch
from literal_heads import LABELS, hidden_states, literally
from torch import Tensor, nn

from plant_plugin.networks import language_baselines
from plant_plugin.networks.language_baselines import CrossAttentionHead
from plant_plugin.networks.planted_plm_ca import OwnOutputsHead


@pytest.mark.parametrize("block_elements", [1, 2**22])
def test_the_head_is_its_formula(monkeypatch: pytest.MonkeyPatch, block_elements: int) -> None:
    monkeypatch.setattr(language_baselines, "BLOCK_ELEMENTS", block_elements)
    hidden, relevance = hidden_states(4)
    head = OwnOutputsHead(4, LABELS, prior_strength=2.0).double()
    for parameter in (head.norm.weight, head.norm.bias, head.output.weight, head.output.bias):
        nn.init.normal_(parameter)

    def score(document: int, label: int, token: int) -> float:
        key = head.key.weight @ hidden.states[document, token]
        return float(head.label_embeddings[label] @ key + 2.0 * relevance[label, document, token])

    def read(label: int, mean: Tensor) -> float:
        value = head.value.weight @ mean + head.value.bias
        centred = value - value.mean()
        normal = centred / (centred.square().mean() + head.norm.eps).sqrt() * head.norm.weight + head.norm.bias
        return float(head.output.weight[label] @ normal + head.output.bias[0])

    torch.testing.assert_close(head(hidden), literally(hidden, score, read))


def test_it_starts_as_the_head_with_one_output() -> None:
    hidden, _ = hidden_states(4)
    torch.manual_seed(1)
    one = CrossAttentionHead(4, LABELS).double()
    torch.manual_seed(1)
    each = OwnOutputsHead(4, LABELS).double()
    torch.testing.assert_close(each(hidden), one(hidden))
    assert each.output.weight.shape == (LABELS, 4)
    each.start_at(-2)
    assert each.output.bias.tolist() == [-2]
