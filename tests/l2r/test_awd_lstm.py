"""AWD-LSTM against a plain one, and its states over segments against those of one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from plant_plugin.l2r.awd_lstm import AwdLstm, Dropouts, LanguageModel
from plant_plugin.l2r.encoder import AwdLstmBackbone

WORDS, WIDTH, INNER = 30, 6, 9
LENGTHS = torch.tensor([23, 5, 14])
EVERY = pytest.mark.parametrize("directions", ["forward", "backward", "both"])


@pytest.fixture
def text() -> torch.Tensor:
    random = torch.Generator().manual_seed(3)
    found = torch.randint(1, WORDS, (3, 23), generator=random)
    return found * (torch.arange(23) < LENGTHS[:, None])


def made(directions: str = "forward", **more: int) -> AwdLstmBackbone:
    torch.manual_seed(1)
    sizes = {"hidden_size": INNER, "num_layers": 3, "embed_dropout": 0.0}
    return AwdLstmBackbone(torch.randn(WORDS, WIDTH), directions=directions, **sizes, **more).eval()


def plain(model: AwdLstm, words: list[int]) -> np.ndarray:
    """Merity et al. 2017, section 2, word by word."""
    states = model.embedding.weight.detach().double().numpy()[words]
    for layer in model.layers:
        parts = [getattr(layer, f"{name}_l0").detach().double().numpy()
                 for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]  # fmt: skip
        hidden = cell = np.zeros(layer.hidden_size)
        found = []
        for word in states:
            gates = parts[0] @ word + parts[2] + parts[1] @ hidden + parts[3]
            enter, forget, new, leave = np.split(gates, 4)
            enter, forget, leave = (1 / (1 + np.exp(-gate)) for gate in (enter, forget, leave))
            cell = forget * cell + enter * np.tanh(new)
            hidden = leave * np.tanh(cell)
            found.append(hidden)
        states = np.array(found)
    return states


@EVERY
def test_states_are_those_of_a_plain_lstm_over_each_document_alone(text, directions):
    backbone = made(directions)
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
    whole = made(directions)(text, LENGTHS, None)
    by_segment = made(directions, segment_tokens=segment, gradient_segments=1)
    torch.testing.assert_close(by_segment(text, LENGTHS, None), whole, atol=1e-6, rtol=0)
    by_segment.train()  # the early segments without a gradient
    torch.testing.assert_close(by_segment(text, LENGTHS, None), whole, atol=1e-6, rtol=0)


def test_only_the_last_segments_of_each_document_have_a_gradient():
    backbone = made(segment_tokens=4, gradient_segments=2).train()
    text = torch.arange(1, 24).repeat(2, 1) % WORDS
    text[1, 10:] = 0
    backbone(text, torch.tensor([23, 10]), None)[0].sum().backward()
    reached = backbone.models[0].embedding.weight.grad.abs().sum(dim=1) > 0
    assert reached[1:].nonzero().flatten().tolist() == list(range(16, 23)), "two segments: words 17 to 23"


def test_recurrent_weights_are_dropped_anew_and_stay_as_they_are():
    model = AwdLstm(torch.randn(WORDS, WIDTH), INNER, 2, Dropouts(weight=0.5))
    before = model.layers[0].weight_hh_l0.detach().clone()
    first, second = (model.draw(1).recurrent[0].detach() for _ in range(2))
    for dropped in (first, second):
        assert torch.equal(dropped, torch.where(dropped == 0, 0.0, 2 * before))
        assert 0.3 < float((dropped == 0).float().mean()) < 0.7
    assert not torch.equal(first, second)
    assert torch.equal(before, model.layers[0].weight_hh_l0)
    states, _ = model(torch.ones(1, 3, dtype=torch.long), model.start(1), model.draw(1))
    states.sum().backward()
    assert model.layers[0].weight_hh_l0.grad.abs().sum() > 0, "the raw weights learn"


def test_dropouts_are_the_same_at_all_positions_and_none_in_evaluation(text):
    model = AwdLstm(torch.randn(WORDS, WIDTH), INNER, 2, Dropouts(0.3, 0.3, 0.3, 0.3, 0.3))
    masks = model.draw(4)
    assert [part.shape for part in masks.inputs] == [(4, 1, WIDTH), (4, 1, INNER)]
    assert masks.output.shape == (4, 1, WIDTH)
    assert masks.word.shape == (WORDS, 1), "a dropped word is dropped wherever it stands"
    rows = torch.tensor([2, 0])
    assert torch.equal(masks.of(rows).output, masks.output[rows])
    calm = model.eval().draw(4)
    assert calm.word is calm.output is None
    assert calm.inputs == [None, None]


def test_layers_hold_every_parameter_once_from_the_bottom_up():
    backbone = made("both")
    stacks = backbone.layers()
    assert [len(stack) for stack in stacks] == [2, 8, 8, 8]
    assert {id(one) for stack in stacks for one in stack} == {id(one) for one in backbone.parameters()}


def test_the_loss_of_a_language_model_is_that_of_the_next_word_under_tied_weights(text):
    model = LanguageModel(made().models[0])
    torch.nn.init.normal_(model.bias)
    loss, penalty, _ = model.losses(text[:1, :-1], text[:1, 1:], model.encoder.start(1))
    states = plain(model.encoder, text[0, :-1].tolist())
    embedding, bias = model.encoder.embedding.weight.detach().double().numpy(), model.bias.detach().double().numpy()
    logits = states @ embedding.T + bias
    wanted = np.mean([np.log(np.exp(row).sum()) - row[word] for row, word in zip(logits, text[0, 1:], strict=True)])
    assert loss.item() == pytest.approx(wanted, abs=1e-5)
    activations, changes = np.mean(states**2), np.mean((states[1:] - states[:-1]) ** 2)
    assert penalty.item() == pytest.approx(2 * activations + changes, abs=1e-6)
    assert len({id(one) for one in model.parameters()}) == len([*model.encoder.parameters()]) + 1
