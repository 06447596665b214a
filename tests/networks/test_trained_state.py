"""Tensors of a checkpoint: adapters only, or all."""

from __future__ import annotations

import pytest
import torch
from language_networks import LORA, batch, network
from tiny_language_models import FAMILIES, skip_without

from plant_plugin.networks.backbone.loading import of_checkpoint
from plant_plugin.networks.trained_state import load_trained_state, trained_state

skip_without("peft", "bitsandbytes")


@pytest.mark.parametrize(
    ("family", "quantization"), [*((family, "nf4") for family in FAMILIES), ("mistral", "int8"), ("phi3", "none")]
)
def test_adapters_train_are_saved_alone_and_give_the_same_logits(
    folders: dict[str, str], family: str, quantization: str
) -> None:
    options = {"quantization": quantization, "lora": LORA, "gradient_checkpointing": True}
    plant = network(folders[family], **options).train()
    optimizer = torch.optim.AdamW([weight for weight in plant.parameters() if weight.requires_grad], lr=1e-2)
    for _ in range(2):  # B starts at zero: A has a gradient from the second step on
        optimizer.zero_grad()
        plant(batch())["logits"].square().sum().backward()
        optimizer.step()
    silent = [name for name, weight in plant.named_parameters() if weight.requires_grad and not weight.grad.any()]
    assert not silent
    state = trained_state(plant)
    adapters = {name for name in state if name.startswith("backbone.")}
    assert len(adapters) == 2 * (8 if family != "phi3" else 4)  # A and B of q, k, v, o of two layers; qkv is one
    assert all("lora_" in name for name in adapters)
    assert {name for name in state if not name.startswith("backbone.")} == {
        f"head.{name}" for name in plant.head.state_dict()
    }
    before = plant.eval()(batch())["logits"]
    fresh = network(folders[family], seed=2, **options).eval()
    assert not torch.allclose(fresh(batch())["logits"], before)
    load_trained_state(fresh, {name: tensor.clone() for name, tensor in state.items()})
    torch.testing.assert_close(fresh(batch())["logits"], before, rtol=0, atol=0)


def test_a_frozen_model_and_one_that_trains(folders: dict[str, str]) -> None:
    trained = network(folders["bert"])
    with of_checkpoint(has_weights=False):
        frozen = network(folders["bert"])
    assert not any(name.startswith("backbone.") for name in trained_state(frozen))
    assert trained_state(trained).keys() == trained.state_dict().keys()
    assert all(weight.dtype == torch.float32 for weight in trained.parameters())
    with pytest.raises(RuntimeError, match="are missing"):
        load_trained_state(trained, trained_state(frozen))
