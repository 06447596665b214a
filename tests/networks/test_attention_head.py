"""Heads against their formulas."""

from __future__ import annotations

import pytest
import torch
from literal_heads import LABELS, hidden_states, literally
from torch import Tensor

from plant_plugin.networks.attention_head import LabelwiseHead


@pytest.mark.parametrize("projection", [None, 3])
def test_labelwise_head_is_the_formula_of_caml_and_laat(projection: int | None) -> None:
    hidden, relevance = hidden_states(4)
    head = LabelwiseHead(4, LABELS, projection, prior_strength=2.0).double()

    def score(document: int, label: int, token: int) -> float:
        state = hidden.states[document, token]
        key = state if head.project is None else (head.project.weight @ state).tanh()
        return float(head.query.weight[label] @ key + 2.0 * relevance[label, document, token])

    def read(label: int, mean: Tensor) -> float:
        return float(head.output.weight[label] @ mean + head.output.bias[label])

    torch.testing.assert_close(head(hidden), literally(hidden, score, read))


def test_the_first_weights_of_laat_are_as_narrow_as_asked() -> None:
    torch.manual_seed(0)
    head = LabelwiseHead(64, 64, 64, spread=0.03)
    for linear in (head.project, head.query, head.output):
        assert linear is not None
        assert float(linear.weight.detach().std()) == pytest.approx(0.03, rel=0.1)
