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

FROM_SHAPES = (
    torch.empty,
    torch.zeros,
    torch.ones,
    torch.full,
    torch.rand,
    torch.randn,
)  # new tensors of a given shape


class Allowance(TorchFunctionMode):
    """A limit, inside a `with`, on the bytes of all new tensors together, whatever a configuration demands.

    Raises:
        ConfigError: A tensor would exceed it; no memory was taken for that tensor.
    """

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.left = limit

    def __torch_function__(
        self,
        function: Callable[..., Tensor],
        types: Sequence[type],
        arguments: Sequence[Value] = (),
        more: Keys | None = None,
    ) -> Tensor:
        """Count the bytes of a tensor that is made of a shape, unless it is on the device ``meta``."""
        named = more or {}
        if function in FROM_SHAPES and str(named.get("device")) != "meta":
            first = named.get("size", arguments[0] if arguments else ())
            shape = (
                first if isinstance(first, Sequence) else [length for length in arguments if isinstance(length, int)]
            )
            self.left -= math.prod(shape) * torch.float32.itemsize
            if self.left < 0:
                what = f"a network with a tensor of {' × '.join(map(str, shape))} is larger than its weights can be"
                raise ConfigError(what, where="network_config", fix="use the configuration of the training run")
        return function(*arguments, **named)


def word_width(network: str, options: Mapping[str, Value]) -> int | None:
    """Return the width of drawn word vectors: ``embed_dim``, else the network's default; None: the usual width."""
    return options.get("embed_dim", getattr(registry.get("networks", network).declared(options), "embed_dim", None))


def construct(
    model_name: str, num_labels: int, vectors: Tensor | None, options: Mapping[str, Value]
) -> PlantableNetwork:
    """Build the network of a name, or of ``module:attribute``, with fresh weights.

    Word vectors are (V, dim), or None of a network over a language model; options are ``network_config``.

    Raises:
        ConfigError: The strategies cannot train such a network, or the options do not fit each other.
    """
    entry = registry.get("networks", model_name)
    target = entry.load()
    if not (inspect.isclass(target) and issubclass(target, PlantableNetwork)):
        what = f"{model_name} is not derived from PlantableNetwork, so it does not show its attention"
        fix = "see plant_plugin/networks/plantable.py for what a network has to define"
        raise ConfigError(what, where="model_name", fix=fix)
    vectors_argument = {} if vectors is None else {"embed_vecs": vectors}
    try:
        network: PlantableNetwork = target(num_classes=num_labels, **vectors_argument, **options)
    except (ValueError, TypeError, RuntimeError, LookupError, ArithmeticError, AssertionError) as error:
        if entry.is_users:  # somebody's own network: its author wants to see where
            raise
        fix = "correct the value; the network's signature says what it takes"
        raise ConfigError(f"{model_name} cannot be built: {error}", where="network_config", fix=fix) from error
    take_our_dropout(network)
    network.built_as = (model_name, dict(options))
    network.vectors_shape = None if vectors is None else tuple(vectors.shape)
    return network
