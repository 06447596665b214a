"""Sampling expressions: ``['grid_search', [8, 16]]`` or ``['loguniform', 1e-5, 1e-3]`` in place of a value.

The names and their arguments are LibMultiLabel's, which are those of Ray Tune.
"""

from __future__ import annotations

import copy
import difflib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from plant_plugin.config.problems import Problems, read_value
from plant_plugin.config.sections import BLOCKS, MAPPINGS, OPTIONS
from plant_plugin.config.values import Keys, Number, Value, Whole
from plant_plugin.errors import suggestion

LISTED = ("choice", "grid_search")
# What follows the name of a numeric expression; the last number of a q… is the step.
NUMBERS = {
    "uniform": ("low", "high"),
    "quniform": ("low", "high", "step"),
    "loguniform": ("low", "high"),
    "qloguniform": ("low", "high", "step"),
    "randn": ("mean", "deviation"),
    "qrandn": ("mean", "deviation", "step"),
    "randint": ("low", "high"),
    "qrandint": ("low", "high", "step"),
}
WHOLE = ("randint", "qrandint")
NAMES = (*LISTED, *NUMBERS)
INNER = 0.381966  # a point between two bounds that is hardly ever a round number


@dataclass(frozen=True)
class Expression:
    """One key that a search varies."""

    path: tuple[str, ...]  # the key, a part for each level
    name: str  # one of :data:`NAMES`
    arguments: tuple[Value, ...]  # the values of a listed expression, else numbers

    @property
    def key(self) -> str:
        """The key as flags write it, ``network_config.rnn_dim``."""
        return ".".join(self.path)

    def domain(self, tune: object) -> object:
        """What Ray Tune draws from: for a listed expression the places of its values, else numbers."""
        make: Callable[..., object] = getattr(tune, self.name)
        # Places instead of values: values may be lists, and NumPy would change the type of texts and numbers.
        return make(list(range(len(self.arguments)))) if self.name in LISTED else make(*self.arguments)

    def decode(self, drawn: float) -> Value:
        """The value behind what Ray Tune drew, as YAML and JSON can hold it."""
        if self.name in LISTED:
            return copy.deepcopy(self.arguments[int(drawn)])
        return int(drawn) if self.name in WHOLE else float(drawn)

    def probes(self) -> list[Value]:
        """Values that show whether the key takes what may be drawn: all listed ones, or both ends and one between."""
        if self.name in LISTED:
            return [copy.deepcopy(value) for value in self.arguments]
        low, high = self.arguments[:2]
        if self.name in ("randn", "qrandn"):
            return [float(low)]
        if self.name in WHOLE:
            return [low, high if self.name == "qrandint" else high - 1]
        between = low + (self.arguments[2] if self.name.startswith("q") else INNER * (high - low))
        return [float(between), float(low), float(high)]


def put(values: Keys, path: tuple[str, ...], value: Value) -> None:
    """Set a key of a nested mapping in place."""
    _holder(values, path)[path[-1]] = value


def _holder(values: Keys, path: tuple[str, ...]) -> Keys:
    for name in path[:-1]:
        values = values[name]
    return values


def take_expressions(given: Keys, problems: Problems) -> list[Expression]:
    """Find the sampling expressions of a configuration, and put a value that it may draw in the place of each.

    A malformed one is taken out, so that nothing else is said about its key.
    """
    found = []
    for path, value in list(_values(given)):
        if not _is_expression(path, value):
            continue
        try:
            found.append(Expression(path, value[0], _arguments(*value)))
            put(given, path, found[-1].probes()[0])
        except ValueError as error:
            problems.add(".".join(path), f"the sampling expression {error}", _example(value[0]))
            del _holder(given, path)[path[-1]]
    return found


def _values(given: Mapping[Value, Value], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Value]]:
    """Every value that is no mapping, with its path; top-level mappings that are no block have their own checks."""
    for name, value in given.items():
        if not isinstance(name, str):
            continue
        if isinstance(value, dict) and (above or name in (*BLOCKS, *MAPPINGS)) and len(above) < 5:
            yield from _values(value, (*above, name))
        elif not isinstance(value, dict):
            yield (*above, name), value


def _is_expression(path: tuple[str, ...], value: Value) -> bool:
    """A list behind one of the names; where no list of texts belongs, also behind a text that may be meant as one."""
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        return False
    if value[0] in NAMES:
        return True
    option = OPTIONS.get(path[0]) if len(path) == 1 else None
    if option is not None:
        return option.nargs != "+"
    return path[0] in BLOCKS or bool(difflib.get_close_matches(value[0], NAMES, n=1, cutoff=0.75))


def _arguments(name: str, *given: Value) -> tuple[Value, ...]:
    """The arguments of an expression, read and checked.

    Raises:
        ValueError: What is malformed.
    """
    if name not in NAMES:
        raise ValueError(f"{name!r} is not known; {suggestion(name, NAMES)}")
    if name in LISTED:
        if len(given) != 1 or not isinstance(given[0], list) or not given[0]:
            raise ValueError(f"{name!r} takes one list of values")
        return tuple(given[0])
    wanted = NUMBERS[name]
    if len(given) != len(wanted):
        raise ValueError(f"{name!r} takes {len(wanted)} numbers ({', '.join(wanted)}), not {len(given)}")
    numbers = []
    for argument, value in zip(wanted, given, strict=True):
        try:
            numbers.append(read_value(value, Whole if name in WHOLE else Number))
        except ValueError as error:
            raise ValueError(f"{name!r}: {argument} {error}") from None
    _check_range(name, *numbers)
    return tuple(numbers)


def _check_range(name: str, first: float, second: float, step: float | None = None) -> None:
    if "randn" in name:
        if second <= 0:
            raise ValueError(f"{name!r}: deviation has to be above 0, not {second}")
    elif first >= second:
        raise ValueError(f"{name!r}: low has to be below high, not {first} and {second}")
    if "log" in name and first <= 0:
        raise ValueError(f"{name!r}: low has to be above 0, not {first}")
    if step is None:
        return
    if step <= 0:
        raise ValueError(f"{name!r}: step has to be above 0, not {step}")
    if "randn" not in name and any(not math.isclose(end / step, round(end / step)) for end in (first, second)):
        raise ValueError(f"{name!r}: low and high have to be multiples of the step {step}")


def _example(name: str) -> str | None:
    """How the expression is written; None where its name is not known."""
    if name in LISTED:
        return f"e.g. ['{name}', [0.1, 0.01]]"
    numbers = {"low": "1", "high": "9", "step": "1", "mean": "0", "deviation": "1"}
    return f"e.g. ['{name}', {', '.join(numbers[part] for part in NUMBERS[name])}]" if name in NUMBERS else None
