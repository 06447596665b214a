"""A language model that stays as it is under a layer that is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone import FrozenBackbone
from plant_plugin.networks.plant import PLANT

TEXT = torch.tensor([[3, 4, 5, 6, 7, 8, 9, 3], [9, 8, 7, 0, 0, 0, 0, 0]])
LENGTH = torch.tensor([8, 3])
LAYER = {"kind": "cnn", "hidden_size": 6, "filter_sizes": (3,)}
MASK = torch.arange(8) < LENGTH[:, None]


@pytest.fixture
def backbone(tiny_bert: Path) -> FrozenBackbone:
    return FrozenBackbone(str(tiny_bert), LAYER, dropout=0.5)


def test_only_the_layer_is_trained(backbone: FrozenBackbone) -> None:
    names = {name.partition(".")[0] for name, weight in backbone.named_parameters() if weight.requires_grad}
    assert names == {"layer"}
    backbone(TEXT, LENGTH, MASK).sum().backward()
    assert all(weight.grad is None for weight in backbone.model.parameters())
    assert all(weight.grad is not None for weight in backbone.layer.parameters())


def test_training_switches_the_layer_and_its_dropout_but_not_the_language_model(backbone: FrozenBackbone) -> None:
    backbone.train()
    assert backbone.dropout.training
    assert not any(module.training for module in backbone.model.modules())
    assert torch.equal(backbone.frozen_states(TEXT, MASK), backbone.frozen_states(TEXT, MASK))
    assert not torch.equal(backbone(TEXT, LENGTH, MASK), backbone(TEXT, LENGTH, MASK))


@pytest.mark.parametrize("layer", ["cnn", "bigru", "bilstm"])
def test_known_states_give_the_same_as_computed_ones(layer: str, tiny_bert: Path) -> None:
    backbone = FrozenBackbone(str(tiny_bert), {**LAYER, "kind": layer}).eval()
    known = backbone.frozen_states(TEXT, MASK)
    assert (known.dtype, known.shape) == (torch.bfloat16, (2, 8, 8))
    states = backbone(TEXT, LENGTH, MASK)
    assert states.shape == (2, 8, 6)
    assert torch.equal(states, backbone(TEXT, LENGTH, MASK, frozen=known))
    assert not torch.equal(states, backbone(TEXT, LENGTH, MASK, frozen=known * 2))


def test_padding_does_not_matter(backbone: FrozenBackbone) -> None:
    backbone.eval()
    alone = backbone(TEXT[1:, :3], LENGTH[1:], MASK[1:, :3])
    torch.testing.assert_close(backbone(TEXT, LENGTH, MASK)[1:, :3], alone, atol=2e-2, rtol=0)  # bf16 between them


def test_the_hash_is_of_weights_configuration_and_window(tiny_bert: Path, tmp_path: Path) -> None:
    def made(folder: Path = tiny_bert, **options: object) -> FrozenBackbone:
        return FrozenBackbone(str(folder), LAYER, **options)

    one = made()
    one.model.save_pretrained(tmp_path / "elsewhere")
    assert made(tmp_path / "elsewhere").content_hash() == one.content_hash()
    assert made(window=4).content_hash() != one.content_hash()
    assert made(overlap=1).content_hash() != one.content_hash()
    other = made()
    with torch.no_grad():
        next(other.model.parameters())[2, 3] += 1
    assert other.content_hash() != one.content_hash()
    other = made()
    other.config.layer_norm_eps *= 2
    assert other.content_hash() != one.content_hash()


def test_freezing_needs_a_language_model() -> None:
    with pytest.raises(ConfigError, match="no language model to freeze"):
        PLANT(3, torch.zeros(5, 4), encoder="cnn", freeze_encoder=True)
    with pytest.raises(ConfigError, match=r"lora: a frozen language model does not train"):
        PLANT(3, lm_weight="x", freeze_encoder=True, lora={"r": 2})
