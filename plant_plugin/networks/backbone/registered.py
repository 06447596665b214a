"""Encoders of words that ``registry.yaml`` names, in the place of a network's own.

Shape key: **V** words · **E** width of their embeddings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from plant_plugin.config import registry
from plant_plugin.config.values import Keys
from plant_plugin.networks.backbone.words import Backbone

Options = TypeVar("Options")
BuildEncoder = Callable[..., Backbone]  # of word vectors (V, E)


def read_options(declared: type[Options], options: Keys) -> tuple[Options, BuildEncoder | None]:
    """A network's options, and the registered encoder that they name, ready for word vectors (V, E).

    Of an encoder the options hold its arguments too; where network and encoder declare the same argument the network's
    default holds.

    Returns:
        The options as one object, and what makes the encoder; None: the options name none that is registered.
    """
    encoder = registry.encoder_of(declared, options)
    if encoder is None:
        return declared(**options), None
    given, of_encoder = registry.with_encoder(declared, encoder)(**options), encoder.declared()
    names = [] if of_encoder is None else [field.name for field in dataclasses.fields(of_encoder)]
    return given, partial(encoder.load(), **{name: getattr(given, name) for name in names})
