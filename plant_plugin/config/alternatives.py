"""Options of a network of which only one holds: a flag for one takes the place of the other that a file gives."""

from __future__ import annotations

from collections.abc import Container

from plant_plugin.config.values import Keys

NETWORK = "network_config"
ENCODERS = "encoder", "lm_weight"  # words or a language model


def replace_alternative(values: Keys, flags: Container[str]) -> None:
    """Leave out, of a file's content, the encoder of words where a flag names a language model; and the reverse."""
    arguments = values.get(NETWORK)
    for one, other in (ENCODERS, ENCODERS[::-1]):
        named = f"{NETWORK}.{one}" in flags and f"{NETWORK}.{other}" not in flags
        if named and isinstance(arguments, dict) and one not in arguments:
            arguments.pop(other, None)
