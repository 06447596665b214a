"""The tensors that training changes, which is all that a checkpoint holds and needs."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from plant_plugin.networks.backbone import HuggingFaceBackbone

FROZEN_PART = "backbone.model."


def trained_state(network: nn.Module) -> dict[str, Tensor]:
    """Return the tensors by name, without the weights of a language model that is quantised, adapted or frozen."""
    state: dict[str, Tensor] = network.state_dict()
    backbone = getattr(network, "backbone", None)
    if not (isinstance(backbone, HuggingFaceBackbone) and backbone.frozen):
        return state
    trained = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    return {name: tensor for name, tensor in state.items() if name in trained or not name.startswith(FROZEN_PART)}


def load_trained_state(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put tensors from :func:`trained_state` into a network.

    Raises:
        RuntimeError: A tensor is missing, is not the network's, or has another shape.
    """
    expected = trained_state(network).keys()
    if expected != tensors.keys():
        missing, foreign = sorted(expected - tensors.keys()), sorted(tensors.keys() - expected)
        raise RuntimeError(f"{len(missing)} tensors are missing, {len(foreign)} are not the network's")
    network.load_state_dict(tensors, strict=False)
