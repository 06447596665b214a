"""Language models that are trained through the last tokens of a document: the states of all, the gradient of these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from plant_plugin.errors import ConfigError
from plant_plugin.networks.plant import PLANT

LENGTH = torch.tensor([11, 3, 7, 0, 4])


def documents() -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.arange(12) < LENGTH[:, None]
    text = torch.randint(1, 20, mask.shape, generator=torch.Generator().manual_seed(0)) * mask
    return text, LENGTH, mask


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


def test_what_is_kept_does_not_grow_with_the_document(tiny_bert: Path) -> None:
    def kept(tokens: int, gradient_tokens: int | None) -> int:
        text = torch.ones(1, tokens, dtype=torch.long)
        options: dict[str, Any] = {"lm_window": 4, "lm_overlap": 0, "num_heads": 1, "pool_size": 1}
        options["post_encoder_dropout"] = 0.0  # its mask grows
        backbone = PLANT(2, lm_weight=str(tiny_bert), gradient_tokens=gradient_tokens, **options).backbone
        return kept_numbers(backbone, text, torch.tensor([tokens]), text.bool())

    assert kept(40, None) > 1.8 * kept(20, None)
    assert kept(40, 4) <= kept(20, 4) < kept(20, None) / 2


def test_windows_that_hold_the_last_sub_words_are_trained(tiny_bert: Path) -> None:
    def network(count: int | None) -> PLANT:
        torch.manual_seed(1)
        options: dict[str, Any] = {
            "lm_window": 4,
            "lm_overlap": 2,
            "num_heads": 2,
            "pool_size": 4,
            "post_encoder_dropout": 0.0,
        }
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


def test_what_has_no_such_thing_is_refused(tiny_bert: Path) -> None:
    for options in ({"encoder": "bigru", "gradient_tokens": 3}, {"lm_weight": str(tiny_bert), "gradient_tokens": 0}):
        with pytest.raises(ConfigError, match="gradient_tokens"):
            PLANT(5, torch.zeros(4, 3), **options)
