"""Every key of a configuration with its type, default and sentence, as ``plant list keys`` prints it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

from plant_plugin.config import registry
from plant_plugin.config.options import Block
from plant_plugin.config.sections import BLOCKS, FIELDS, MAPPINGS, SCHEMA, SEARCH
from plant_plugin.config.values import parts, wanted

NETWORK = "network_config"


class Key(NamedTuple):
    """A key as a configuration names it."""

    name: str  # of a block's key BLOCK.KEY
    group: str  # heading under which it is listed
    wanted: str  # what it takes, in words
    default: object  # REQUIRED of one that has to be given
    sentence: str
    used: tuple[str, ...]  # of network_config: networks and encoders that take it


def keys() -> Iterator[Key]:
    """Yield every key once: the flat ones, those of blocks, of a search, and of the networks of this package."""
    for option in SCHEMA:
        yield Key(option.name, option.group, wanted(option.hint), option.default, option.help, ())
    for name in MAPPINGS:
        if name != NETWORK:
            yield _key(FIELDS[name], "Training", "")
    for block, options in BLOCKS.items():
        for field in dataclasses.fields(options):
            yield _key(field, f"{block}: {FIELDS[block].metadata['help']}", f"{block}.")
    for option in SEARCH:
        yield Key(option.name, "Search", wanted(option.hint), option.default, option.help, ())
    of_networks: dict[str, Key] = {}
    for entry in (*registry.entries("networks").values(), *registry.entries("encoders").values()):
        if (declared := entry.declared()) is not None:
            for key in _of_block(declared, f"{NETWORK}."):
                first = of_networks.get(key.name, key)
                of_networks[key.name] = first._replace(used=(*first.used, entry.name))
    yield from of_networks.values()


def _of_block(options: type[Block], prefix: str) -> Iterator[Key]:
    """Yield the keys of a class of options, those of a class inside it in its place.

    A sentence is the comment after a key, in the class itself or in one that it is derived from.
    """
    lines = "\n".join(inspect.getsource(part) for part in options.__mro__ if part not in (Block, object))
    for field in dataclasses.fields(options):
        inner = [part for part in parts(field.type) if isinstance(part, type) and issubclass(part, Block)]
        if inner:
            yield from _of_block(inner[0], f"{prefix}{field.name}.")
        else:
            comment = re.search(rf"^    {field.name}: .*  # (.*)$", lines, re.MULTILINE)
            yield _key(field, "Arguments of networks", prefix, comment[1] if comment else "")


def _key(field: dataclasses.Field[object], group: str, prefix: str, comment: str = "") -> Key:
    sentence = field.metadata.get("help", comment)
    return Key(prefix + field.name, group, wanted(field.type), field.default, sentence, ())
