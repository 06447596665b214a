"""Encoders of words that ``registry.yaml`` names, instead of a network's own.

Shape key: **V** words · **E** width of their embeddings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from plant_plugin.config import problems, registry
from plant_plugin.config.options import NetworkOptions
from plant_plugin.config.values import Keys
from plant_plugin.networks.backbone.words import Backbone

Options = TypeVar("Options", bound=NetworkOptions)
BuildEncoder = Callable[..., Backbone]  # of word vectors (V, E)


def read_options(declared: type[Options], options: Keys) -> tuple[Options, BuildEncoder | None]:
    """Read a network's options, and the registered encoder that they name, ready for word vectors (V, E).

    The options hold the encoder's arguments too. Where network and encoder declare the same argument, the network's
    default holds.

    Returns:
        The options as one object, and the function that builds the encoder; None: they name no registered encoder.

    Raises:
        ConfigError: With every option that is not as declared.
    """
    encoder = registry.encoder_of(declared, options)
    read = problems.read_options(declared if encoder is None else registry.with_encoder(declared, encoder), options)
    if encoder is None:
        return read, None
    of_encoder = encoder.declared()
    names = [] if of_encoder is None else [field.name for field in dataclasses.fields(of_encoder)]
    return read, partial(encoder.load(), **{name: getattr(read, name) for name in names})
