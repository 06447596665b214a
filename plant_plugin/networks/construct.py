"""From a name and its options to a network."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from plant_plugin.config import registry
from plant_plugin.config.values import Keys, Value
from plant_plugin.errors import ConfigError
from plant_plugin.networks.kernels.dropout import take_our_dropout
from plant_plugin.networks.plantable import PlantableNetwork

MADE = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn)  # new tensors of a given shape


class Allowance(TorchFunctionMode):
    """Inside the block new tensors take no more than so many bytes together, whatever a configuration asks for.

    Raises:
        ConfigError: They would; nothing was taken for the one that is too large.
    """

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.left = limit

    def __torch_function__(
        self, made: Callable[..., Tensor], types: Sequence[type], given: Sequence[Value] = (), more: Keys | None = None
    ) -> Tensor:
        """Count what is made of a shape, wherever it is memory."""
        named = more or {}
        if made in MADE and str(named.get("device")) != "meta":
            first = named.get("size", given[0] if given else ())
            shape = first if isinstance(first, Sequence) else [length for length in given if isinstance(length, int)]
            self.left -= math.prod(shape) * torch.float32.itemsize
            if self.left < 0:
                what = f"a network with a tensor of {' × '.join(map(str, shape))} is larger than its weights can be"
                raise ConfigError(what, where="network_config", fix="use the configuration of the training run")
        return made(*given, **named)


def word_width(network: str, options: Mapping[str, Value]) -> int | None:
    """How wide drawn word vectors are: ``embed_dim``, or what the network has where it is silent; None: the usual."""
    return options.get("embed_dim", getattr(registry.get("networks", network).declared(options), "embed_dim", None))


def construct(
    model_name: str, num_labels: int, vectors: Tensor | None, options: Mapping[str, Value]
) -> PlantableNetwork:
    """The network of a name, or of ``module:attribute``, with fresh weights.

    Word vectors are (V, dim), or None where a language model stands in their place; options are ``network_config``.

    Raises:
        ConfigError: It is not one that our strategies can train, or the options do not fit each other.
    """
    entry = registry.get("networks", model_name)
    target = entry.load()
    if not (inspect.isclass(target) and issubclass(target, PlantableNetwork)):
        what = f"{model_name} is not derived from PlantableNetwork, so it does not show its attention"
        fix = "see plant_plugin/networks/plantable.py for what a network has to define"
        raise ConfigError(what, where="model_name", fix=fix)
    given = {} if vectors is None else {"embed_vecs": vectors}
    try:
        network: PlantableNetwork = target(num_classes=num_labels, **given, **options)
    except (ValueError, TypeError, RuntimeError, LookupError, ArithmeticError, AssertionError) as error:
        if entry.own:  # somebody's own network: its author wants to see where
            raise
        fix = "correct the value; the network's signature says what it takes"
        raise ConfigError(f"{model_name} cannot be built: {error}", where="network_config", fix=fix) from error
    take_our_dropout(network)
    network.built_as = (model_name, dict(options))
    network.vectors_shape = None if vectors is None else tuple(vectors.shape)
    return network
