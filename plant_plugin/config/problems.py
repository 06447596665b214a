"""Gather everything that is wrong with a configuration before an error says it; pydantic's faults in our words."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from plant_plugin.config.options import Block
from plant_plugin.config.sections import SEARCH_OPTIONS
from plant_plugin.config.values import Keys, Value, choices, parts, shown, wanted
from plant_plugin.errors import ConfigError, suggestion

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Section = TypeVar("Section", bound=Block)
RANGES = {  # pydantic's types of faults, in our words
    "greater_than_equal": "has to be at least {ge}, not {input}",
    "greater_than": "has to be above {gt}, not {input}",
    "less_than_equal": "has to be at most {le}, not {input}",
    "less_than": "has to be below {lt}, not {input}",
}
LINES = "has to be `name: value` lines, not {type}"
SENTENCES = {"dataclass_type": LINES, "dict_type": LINES, "too_short": "is empty", **RANGES}
NO_SUCH_KEY = ("unexpected_keyword_argument", "invalid_key")
SEARCH_FIX = "`plant search FILE` takes it: it belongs to a search for hyper-parameters"


class Problems:
    """A list that grows while a configuration, of a file or a packaged name, is checked.

    Attributes:
        path: The file, or NAME.yml.
        lines: File and line of each key, those of blocks under ``block.key``.
    """

    def __init__(self, path: Path | None = None, lines: dict[str, tuple[Path, int]] | None = None) -> None:
        self.path, self.lines = path, lines or {}
        self.found: list[ConfigError] = []
        self._unread: set[str] = set()
        self._noted: set[tuple[str, str]] = set()  # key and what is wrong with it

    def all_read(self) -> None:
        """Note that values are compared from here on: a key that could not be read is at its default, and noted."""
        self._unread = {key for key, _ in self._noted}

    def add(self, key: str, what: str, fix: str | None = None, *, value: object = None) -> None:
        """Note what is wrong with a key (top-level, or ``block.key``), once where two checks find the same.

        A ``value`` is shown beside the key.
        """
        if {key, key.partition(".")[0]} & self._unread or (key, what) in self._noted:
            return
        self._noted.add((key, what))
        where = key if value is None else f"{key}: {value}"
        if place := self.lines.get(key):
            where += f" ({place[0].name}, line {place[1]})"
        self.found.append(ConfigError(what, where=where, fix=fix))

    def raise_if_any(self) -> None:
        """Raise a ``ConfigError`` that says all at once; a single one is raised as it is."""
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            listed = "\n".join(f"- {problem.message}" for problem in self.found)
            raise ConfigError(
                f"{len(self.found)} problems\n{listed}",
                where=self.path.name if self.path else None,
                problems=self.found,
            )


@functools.lru_cache(maxsize=64)  # the options of some networks are made when they are read
def _adapter(hint: Value) -> TypeAdapter[Value]:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _faults(hint: object, value: object) -> tuple[Value, list[ErrorDetails]]:
    from pydantic import ValidationError

    try:
        return _adapter(hint).validate_python(value), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def read_section(section: type[Section], content: Mapping[str, object], problems: Problems, above: str = "") -> Section:
    """Read a section of a configuration, which is under the key ``above`` (with a dot).

    Values that are wrong are noted, and stay at their defaults; ``content`` stays as it is.
    """
    values = _named(content)
    blocks = {name: value for name, value in values.items() if _block(section, name) and isinstance(value, Mapping)}
    values |= {name: _named(value) for name, value in blocks.items()}
    read, faults = _faults(section, values)
    by_key: dict[tuple[str, ...], list[ErrorDetails]] = {}
    for fault in faults:
        first, *inner = [str(name) for name in fault["loc"]]
        # After the key come the branches of a union and the places of a list.
        path = (first, *inner[:1]) if _block(section, first) else (first,)
        by_key.setdefault(path, []).append(fault)
    if not faults:
        for key, what, fix in cast(Section, read).faults():
            problems.add((above + key).removesuffix("."), what, fix)
        return cast(Section, read)
    right: Keys = {name: value for name, value in values.items() if (name,) not in by_key}
    for path, faults_of_key in by_key.items():
        of = (_block(section, path[0]) if len(path) == 2 else None) or section
        _note(of, above + ".".join(path), path[-1], faults_of_key, problems)
        if len(path) == 2:
            right[path[0]] = {name: value for name, value in right[path[0]].items() if str(name) != path[1]}
    return cast(Section, _faults(section, right)[0])


def read_options(declared: type[Section], network_config: Mapping[str, object]) -> Section:
    """Read the options of a network as it declares them.

    Raises:
        ConfigError: With every problem, under ``network_config.NAME``.
    """
    problems = Problems()
    options = read_section(declared, network_config, problems, "network_config.")
    problems.raise_if_any()
    return options


def _block(section: type[Block], name: str) -> type[Block] | None:
    """Return the block that a key of a section holds; None: a value."""
    field = next((field for field in dataclasses.fields(section) if field.name == name), None)
    hints = parts(field.type) if field else ()
    return next((hint for hint in hints if isinstance(hint, type) and issubclass(hint, Block)), None)


def _named(values: Mapping[str, Value]) -> Keys:
    """Return values with keys that are texts: in YAML they may be numbers, days or null."""
    return {str(name): value for name, value in values.items()}


def _note(section: type[Block], key: str, name: str, faults: list[ErrorDetails], problems: Problems) -> None:
    first, fields = faults[0], {field.name: field for field in dataclasses.fields(section)}
    if first["type"] == "missing":
        return problems.add(key, "is needed and has no default", "give it")
    if first["type"] in NO_SUCH_KEY:
        near = SEARCH_FIX if key in SEARCH_OPTIONS else suggestion(name, tuple(fields))
        return problems.add(key, section.unknown, near)
    return problems.add(key, _what(fields[name].type, faults))


def _what(hint: object, faults: list[ErrorDetails]) -> str:
    """Return the faults of a value in a sentence; a range that it misses says more than a type that it is not."""
    fault = next((fault for fault in faults if fault["type"] in RANGES), faults[0])
    value, allowed = fault["input"], choices(hint)
    if fault["type"] in SENTENCES:
        return SENTENCES[fault["type"]].format(**fault.get("ctx", {}), input=value, type=type(value).__name__)
    if allowed and isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"has no choice {value!r}; {suggestion(str(value), allowed)}"
    is_item = len(fault["loc"]) > 1 and isinstance(fault["loc"][-1], int)
    return f"has to be {wanted(str if allowed or is_item else hint)}, not {shown(value)}"
