"""Single values of a configuration: how YAML and flags write them, and how keys are declared.

:mod:`plant_plugin.config.problems` lets pydantic check them. It is not imported here: ``--help`` does not wait for it.
"""

import copy
import math
import types
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MinLen

SHOWN = 200  # characters of a wrong value
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_NAMES: dict[object, str] = {  # in the order in which a message names them
    type(None): "null", bool: "true or false", int: "a whole number", float: "a number", str: "a text",
}  # fmt: skip
if TYPE_CHECKING:
    from pydantic_core import CoreSchema

Default = TypeVar("Default")
Value: TypeAlias = Any  # type: ignore[explicit-any]  # of a key, as YAML holds it before it is checked
Keys: TypeAlias = dict[str, Value]


def key(default: Default, sentence: str, *, influence: bool = True, flag_value: int | None = None) -> Default:
    """Declare a key of a section.

    Args:
        default: What holds when neither YAML nor a flag says anything.
        sentence: For ``--help``.
        influence: Whether a result depends on it; if not, it is left out of the configuration's hash.
        flag_value: The value of a flag that is given without one; None: a value has to follow.
    """
    about = {"help": sentence, "influence": influence, "flag_value": flag_value}
    if isinstance(default, list | dict):
        return cast(Default, field(default_factory=lambda: copy.copy(default), metadata=about))
    declared: Default = field(default=default, metadata=about)
    return declared


def aside(default: Default, sentence: str, *, flag_value: int | None = None) -> Default:
    """Declare a key that no result depends on: where things are written or kept, and how the work is spread."""
    return key(default, sentence, influence=False, flag_value=flag_value)


def _truth(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in _WORDS:
        raise ValueError(word)
    return _WORDS[word]


def _spelled(value: object) -> int | float | str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(value)
    return value


def _whole(value: object) -> int:
    number = _spelled(value)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(value)
    return int(number)


def _number(value: object) -> float:
    number = _spelled(value)
    try:
        if not math.isfinite(float(number)):
            raise ValueError(value)
    except OverflowError as error:  # of a whole number of 400 digits
        raise ValueError(value) from error
    return number if isinstance(number, int) else float(number)  # val_size: 100 documents has to stay a whole number


def _text(value: object) -> str:
    if isinstance(value, float):  # 1.10 is 1.1 by now
        raise ValueError(value)
    return str(_spelled(value))


_READERS: dict[object, Callable[[object], object]] = {bool: _truth, int: _whole, float: _number, str: _text}


class _AsWritten:
    """Lets pydantic read a type as above: a text may spell a number (YAML's ``1e-4``, flags), but True is no 1.

    What is read strictly, as the JSON of a model folder, is of the type itself.
    """

    def __get_pydantic_core_schema__(self, source: object, handler: "Callable[[object], CoreSchema]") -> "CoreSchema":
        from pydantic_core import core_schema

        if source in _READERS:
            lax: CoreSchema = core_schema.no_info_plain_validator_function(_READERS[source])
        elif get_origin(source) is dict:
            lax = core_schema.dict_schema()  # keys that are no texts are noted beside the other wrong names
        else:
            before: Callable[[object], object] = _text if get_origin(source) is Literal else _listed
            lax = core_schema.no_info_before_validator_function(before, handler(source))
        return core_schema.lax_or_strict_schema(lax_schema=lax, strict_schema=handler(source))


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


AS_WRITTEN = _AsWritten()
Truth = Annotated[bool, AS_WRITTEN]
Whole = Annotated[int, AS_WRITTEN]
Number = Annotated[float, AS_WRITTEN]
Text = Annotated[str, AS_WRITTEN]
PLAIN: dict[type, object] = {bool: Truth, int: Whole, float: Number, str: Text}
Texts = Annotated[list[Text], AS_WRITTEN, MinLen(1)]
Values = Annotated[Keys, AS_WRITTEN]  # free, bound to the signature of what they configure
AtLeast0 = Annotated[Whole, Ge(0)]
AtLeast1 = Annotated[Whole, Ge(1)]
AtLeast2 = Annotated[Whole, Ge(2)]
Seed = Annotated[Whole, Ge(0), Le(2**32 - 1)]  # numpy takes no larger one
NotNegative = Annotated[Number, Ge(0)]
Positive = Annotated[Number, Gt(0)]
Share = Annotated[Number, Ge(0), Lt(1)]


def parts(hint: object) -> tuple[object, ...]:
    """Return the types of a declaration, without their ranges: ``int | Literal["all"]`` as its two."""
    if get_origin(hint) is Annotated:
        return parts(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(part for each in get_args(hint) for part in parts(each))
    return (hint,)


def choices(hint: object) -> tuple[str, ...]:
    """Return the only values, beside null, that a declaration allows; empty: it allows others."""
    literals = [get_args(part) if get_origin(part) is Literal else () for part in parts(hint) if part is not type(None)]
    return tuple(choice for each in literals for choice in each) if all(literals) else ()


def wanted(hint: object) -> str:
    """Return in words what a declaration allows."""
    allowed = parts(hint)
    names = [name for kind, name in _NAMES.items() if kind in allowed]
    for part in allowed:
        if part not in _NAMES:
            names += [f"`{choice}`" for choice in get_args(part)] if get_origin(part) is Literal else ["a list"]
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def parse_interval(text: str) -> tuple[int | None, float | None]:
    """Return ``checkpoint_every`` as (steps, seconds): of ``200`` steps, ``10m`` minutes, or ``epoch``, neither."""
    if text == "epoch":
        return None, None
    steps, seconds = (None, 60 * float(text[:-1])) if text.endswith("m") else (int(text), None)
    if not 0 < (steps or seconds or 0) < float("inf"):
        raise ValueError(text)
    return steps, seconds


def shown(value: object) -> str:
    """Return a wrong value as a message shows it."""
    if value is None or not isinstance(value, str | int | float):
        return "null" if value is None else type(value).__name__
    return text if len(text := repr(value)) <= SHOWN else f"{text[:SHOWN]}…"
