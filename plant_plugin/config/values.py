"""Single values of a configuration: their types, as YAML and flags write them, and their ranges."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Callable
from typing import Any

from plant_plugin.config.registry import suggestion
from plant_plugin.config.schema import BLOCKS, Option

_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "null"}
NULLABLE = ("init_weight", "predict_out_path", "max_seq_length")  # have a default, and null means something else


def conform(value: Any, kinds: tuple[Any, ...]) -> Any:
    """A value as one of the types, tried in order.

    YAML reads ``1e-4`` as text and flags are texts, so a text that spells a number is one where a number is wanted.

    Raises:
        ValueError: Saying what is wanted.
    """
    for kind in kinds:
        converted = _READERS[kind](value)
        if converted is not _REFUSED:
            return converted
    raise ValueError(f"has to be {' or '.join(_NAMES[kind] for kind in kinds)}, not {_shown(value)}")


_REFUSED = object()


def _shown(value: Any) -> str:
    return "null" if value is None else repr(value) if isinstance(value, str | int | float) else type(value).__name__


def _boolean(value: Any) -> Any:
    return value if isinstance(value, bool) else _WORDS.get(str(value).strip().lower(), _REFUSED)


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        return _REFUSED
    if isinstance(value, float):
        return int(value) if value.is_integer() else _REFUSED
    try:
        return int(value) if isinstance(value, int | str) else _REFUSED
    except ValueError:
        return _REFUSED


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return _REFUSED
    try:
        number = float(value)
    except ValueError:
        return _REFUSED
    if not math.isfinite(number):
        return _REFUSED
    return value if isinstance(value, int) else number  # val_size: 100 documents has to stay a whole number


def _text(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return _REFUSED
    return str(value)


def _null(value: Any) -> Any:
    return None if value is None else _REFUSED


_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: _boolean,
    int: _whole,
    float: _number,
    str: _text,
    type(None): _null,
}


def read_option(option: Option, value: Any) -> Any:
    """The value of a top-level key.

    Raises:
        ValueError: Wrong type, or none of the choices.
    """
    if option.nargs == "+":
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not items:
            raise ValueError(f"has to be a list, not {_shown(value)}" if items else "is empty")
        return [conform(item, (option.type,)) for item in items]
    optional = option.default is None or option.name in NULLABLE
    value = conform(value, (type(None), option.type) if optional else (option.type,))
    if option.choices and value not in option.choices:
        raise ValueError(f"has no choice {value!r}; {suggestion(str(value), option.choices)}")
    return value


def block_fields(block: str) -> dict[str, tuple[Any, ...]]:
    """Types of a block's fields by name, in the order in which a value is tried."""
    hints = typing.get_type_hints(BLOCKS[block])
    order = [type(None), bool, int, float, str]
    fields = {}
    for field in dataclasses.fields(BLOCKS[block]):
        hint = hints[field.name]
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        fields[field.name] = tuple(sorted(kinds, key=order.index))
    return fields


def read_field(block: str, name: str, value: Any) -> Any:
    """The value of a block's key.

    Raises:
        ValueError: Wrong type, or none of the choices.
    """
    value = conform(value, block_fields(block)[name])
    field = next(field for field in dataclasses.fields(BLOCKS[block]) if field.name == name)
    choices = field.metadata.get("choices", ())
    if choices and value not in choices:
        raise ValueError(f"has no choice {value!r}; {suggestion(str(value), choices)}")
    return value
