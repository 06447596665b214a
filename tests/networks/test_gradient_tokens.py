"""Encoders that are trained through the last tokens of a document: the states of all, the gradient of the last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone import StatefulWords, WordBackbone
from plant_plugin.networks.plant import PLANT

LENGTH = torch.tensor([11, 3, 7, 0, 4])
RECURRENT = pytest.mark.parametrize(("kind", "layers"), [("bigru", 1), ("bigru", 2), ("bilstm", 1), ("bilstm", 2)])
NO_DROPOUT = {"embed_dropout": 0.0, "post_encoder_dropout": 0.0}


def documents() -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(12) < LENGTH[:, None]
    text = torch.randint(1, 20, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    return text, LENGTH, mask


def encoder(kind: str, layers: int, gradient_tokens: int | None = None, **options: Any) -> WordBackbone:
    torch.manual_seed(1)
    given: dict[str, Any] = {"hidden_size": 6, "num_layers": layers, **NO_DROPOUT, **options}
    if gradient_tokens is None:
        return WordBackbone(kind, torch.randn(20, 5), **given).double()
    return StatefulWords(kind, torch.randn(20, 5), gradient_tokens, **given).double()


def gradients(backbone: nn.Module, states: Tensor) -> dict[str, Tensor]:
    weights = torch.randn(states.shape, dtype=states.dtype, generator=torch.Generator().manual_seed(2))
    backbone.zero_grad()
    (states * weights).sum().backward()
    return {name: weight.grad.clone() for name, weight in backbone.named_parameters() if weight.grad is not None}


def literally(backbone: WordBackbone, gradient_tokens: int) -> Tensor:
    """Word by word: a state or an input of the words before the last ones is cut off from its past."""
    text, length, _ = documents()
    rnn = backbone.encoder.encoder.rnn
    rows = []
    for document, count in zip(text, length.clamp(min=1).tolist(), strict=True):
        start, states = max(0, count - gradient_tokens), list(backbone.embedding(document[:count]))
        for layer in range(rnn.num_layers):
            found: list[list[Tensor]] = [[torch.empty(0)] * 2 for _ in range(count)]
            for side, (suffix, order) in enumerate((("", range(count)), ("_reverse", reversed(range(count))))):
                names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                weights = [getattr(rnn, f"{name}_l{layer}{suffix}") for name in names]
                state = [torch.zeros(1, 3).double()] * (2 if isinstance(rnn, nn.LSTM) else 1)
                for place in order:
                    if place < start or (suffix == "" and place == start):
                        state = [part.detach() for part in state]
                    word = states[place][None] if place >= start else states[place][None].detach()
                    if isinstance(rnn, nn.LSTM):
                        state = list(torch.lstm_cell(word, state, *weights))
                    else:
                        state = [torch.gru_cell(word, state[0], *weights)]
                    found[place][side] = state[0][0] if place >= start else state[0][0].detach()
            states = [torch.cat(pair) for pair in found]
        rows.append(torch.cat([torch.stack(states), torch.zeros(12 - count, 6).double()]))
    return torch.stack(rows)


@RECURRENT
@pytest.mark.parametrize("gradient_tokens", [1, 3, 4, 7])
def test_all_states_and_the_gradient_of_the_last_words(kind: str, layers: int, gradient_tokens: int) -> None:
    backbone = encoder(kind, layers, gradient_tokens).train()
    states = backbone(*documents())
    torch.testing.assert_close(states, encoder(kind, layers)(*documents()))
    expected = literally(backbone, gradient_tokens)
    torch.testing.assert_close(states, expected)
    mine, literal = gradients(backbone, states), gradients(backbone, expected)
    assert mine.keys() == literal.keys() == dict(backbone.named_parameters()).keys()
    torch.testing.assert_close(mine, literal)
    plain = encoder(kind, layers)
    assert any(not torch.allclose(mine[name], value) for name, value in gradients(plain, plain(*documents())).items())


@RECURRENT
def test_with_a_gradient_everywhere_and_in_evaluation_it_is_the_plain_encoder(kind: str, layers: int) -> None:
    plain, whole, few = (encoder(kind, layers, count) for count in (None, 11, 3))
    expected = plain(*documents())
    torch.testing.assert_close(gradients(whole, whole(*documents())), gradients(plain, expected), rtol=0, atol=0)
    torch.testing.assert_close(few.eval()(*documents()), expected, rtol=0, atol=0)


def test_dropout_falls_on_both_parts() -> None:
    torch.manual_seed(0)
    backbone = encoder("bigru", 2, 3, encoder_dropout=0.5, embed_dropout=0.5, post_encoder_dropout=0.5).train()
    states = backbone(*documents())
    assert not torch.equal(states, backbone(*documents()))
    for part in (states[0, :8], states[0, 8:11]):
        assert 0.2 < float((part == 0).double().mean()) < 0.8


def kept_numbers(network: nn.Module, *given: Tensor) -> int:
    """Numbers that autograd keeps of a forward pass, each piece of memory once."""
    own = {weight.untyped_storage().data_ptr() for weight in network.parameters()}
    found: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor.dtype.is_floating_point and tensor.untyped_storage().data_ptr() not in own:
            found[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        network.train()(*given)
    return sum(tensor.untyped_storage().nbytes() // tensor.element_size() for tensor in found.values())


@pytest.mark.parametrize("kind", ["bigru", "bilstm", "bert"])
def test_what_is_kept_does_not_grow_with_the_document(kind: str, tiny_bert: Path) -> None:
    def kept(tokens: int, gradient_tokens: int | None) -> int:
        text = torch.ones(1, tokens, dtype=torch.long)
        if kind == "bert":
            options: dict[str, Any] = {"lm_window": 4, "lm_overlap": 0, "num_heads": 1, "pool_size": 1}
            options["post_encoder_dropout"] = 0.0  # its mask grows
            backbone = PLANT(2, lm_weight=str(tiny_bert), gradient_tokens=gradient_tokens, **options).backbone
        else:
            backbone = encoder(kind, 1, gradient_tokens, embed_dropout=0.2)
        return kept_numbers(backbone, text, torch.tensor([tokens]), text.bool())

    assert kept(40, None) > 1.8 * kept(20, None)
    assert kept(40, 4) <= kept(20, 4) < kept(20, None) / 2


def test_windows_that_hold_the_last_sub_words_are_trained(tiny_bert: Path) -> None:
    def network(count: int | None) -> PLANT:
        torch.manual_seed(1)
        options: dict[str, Any] = {"lm_window": 4, "lm_overlap": 2, "num_heads": 2, "pool_size": 4, **NO_DROPOUT}
        del options["embed_dropout"]
        plant = PLANT(5, lm_weight=str(tiny_bert), gradient_tokens=count, **options).train()
        for module in plant.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        return plant

    text, length, mask = documents()
    plain, few, all_of_them = network(None), network(3), network(11)
    plain_states, few_states = (plant.backbone(text, length, mask) for plant in (plain, few))
    torch.testing.assert_close(few_states[mask], plain_states[mask])
    # windows begin every 2 sub-words and an overlap is halved: 0 to 2, 3 and 4, … up to 7 and 8, 9 and behind
    first = torch.tensor([7, 0, 3, 0, 0])  # where the first window that holds one of the last three begins to be read
    place = torch.arange(12)
    cut = torch.where((place >= first[:, None])[..., None], plain_states, plain_states.detach())
    weights = torch.randn(plain_states.shape, generator=torch.Generator().manual_seed(2)) * mask[..., None]
    found = []
    for backbone, states in ((few.backbone, few_states), (plain.backbone, cut)):
        backbone.zero_grad()
        (states * weights).sum().backward()
        found.append(
            {name: weight.grad.clone() for name, weight in backbone.named_parameters() if weight.grad is not None}
        )
    torch.testing.assert_close(*found)
    with torch.no_grad():
        assert torch.equal(few.eval().backbone(text, length, mask), plain.eval().backbone(text, length, mask))
    whole = all_of_them.backbone(text, length, mask)
    assert torch.equal(whole, plain_states)


@pytest.mark.parametrize("options", [{"encoder": "cnn"}, {"encoder": "bigru", "gradient_tokens": 0}])
def test_what_has_no_such_thing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="gradient_tokens"):
        PLANT(5, torch.zeros(4, 3), **{"gradient_tokens": 3, **options})
