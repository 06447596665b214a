"""AWD-LSTMs as an encoder: states over segments against those of one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from plain_lstm import LENGTHS, WORDS, plain, small_backbone

EVERY = pytest.mark.parametrize("directions", ["forward", "backward", "both"])


@EVERY
def test_states_are_those_of_a_plain_lstm_over_each_document_alone(text, directions):
    backbone = small_backbone(directions)
    states = backbone(text, LENGTHS, None).detach().numpy()
    assert states.shape == (3, 23, backbone.hidden_size)
    for row, length in enumerate(LENGTHS.tolist()):
        words = text[row, :length].tolist()
        wanted = [plain(model, words[::-1])[::-1] if direction == "backward" else plain(model, words)
                  for direction, model in zip(backbone.directions, backbone.models, strict=True)]  # fmt: skip
        np.testing.assert_allclose(states[row, :length], np.concatenate(wanted, axis=1), atol=1e-5)
        assert not states[row, length:].any()


@EVERY
@pytest.mark.parametrize("segment", [1, 4, 23, 40])
def test_segments_give_the_states_of_one_pass(text, directions, segment):
    whole = small_backbone(directions)(text, LENGTHS, None)
    by_segment = small_backbone(directions, segment_tokens=segment, gradient_segments=1)
    torch.testing.assert_close(by_segment(text, LENGTHS, None), whole, atol=1e-6, rtol=0)
    by_segment.train()  # the early segments without a gradient
    torch.testing.assert_close(by_segment(text, LENGTHS, None), whole, atol=1e-6, rtol=0)


def test_only_the_last_segments_of_each_document_have_a_gradient():
    backbone = small_backbone(segment_tokens=4, gradient_segments=2).train()
    text = torch.arange(1, 24).repeat(2, 1) % WORDS
    text[1, 10:] = 0
    backbone(text, torch.tensor([23, 10]), None)[0].sum().backward()
    reached = backbone.models[0].embedding.weight.grad.abs().sum(dim=1) > 0
    assert reached[1:].nonzero().flatten().tolist() == list(range(16, 23)), "two segments: words 17 to 23"


def test_layers_hold_every_parameter_once_from_the_bottom_up():
    backbone = small_backbone("both")
    stacks = backbone.layers()
    assert [len(stack) for stack in stacks] == [2, 8, 8, 8]
    assert {id(one) for stack in stacks for one in stack} == {id(one) for one in backbone.parameters()}
