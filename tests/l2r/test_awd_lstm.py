"""AWD-LSTM and its language model against a plain one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from plain_lstm import INNER, WIDTH, WORDS, plain, small_backbone

from plant_plugin.l2r.awd_lstm import AwdLstm, Dropouts, LanguageModel


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


def test_the_loss_of_a_language_model_is_that_of_the_next_word_under_tied_weights(text):
    model = LanguageModel(small_backbone().models[0])
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
