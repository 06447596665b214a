"""Where several values are wanted, one string is not taken for as many as it has letters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from plant_plugin.errors import ConfigError

T = TypeVar("T")


def several(values: Iterable[T], where: str) -> Iterable[T]:
    """Return the values; a ConfigError, with the name of the argument, where they are one string."""
    if isinstance(values, (str, bytes)):
        raise ConfigError("one string, where any number is expected", where=where, fix="give a list of it")
    return values
