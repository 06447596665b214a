"""Packaged configurations: ``METHOD_DATA`` is a method on a data set, ``METHOD`` is for anybody's data.

Each method and each data set is a short file of ``packaged/``. A key may be in three places, of which the last holds:
the data set's file, the method's file, and the pair's entry under ``methods`` of the data set. A data set that is
``like`` another says only what differs.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from plant_plugin.config import registry
from plant_plugin.config.problems import Problems
from plant_plugin.config.sections import FIELDS
from plant_plugin.config.values import Keys, Value
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError

LIKE, METHODS, MEASURED = "like", "methods", "measured"  # keys of a data set's file that are no settings
NEAREST = 3  # names that an error suggests
COMMENT = re.compile(r"(?:^|\s)\s*(# .*)$")


@cache
def methods() -> dict[str, Path]:
    """Return the files of all methods by name."""
    return _files("methods")


@cache
def data_sets() -> dict[str, Path]:
    """Return the files of all data sets by name."""
    return _files("data")


def _files(folder: str) -> dict[str, Path]:
    packaged = Path(str(files("plant_plugin.config"))) / "packaged"
    return {path.stem: path for path in sorted((packaged / folder).glob("*.yml"))}


@cache
def packaged_names() -> tuple[str, ...]:
    """Return every METHOD and METHOD_DATA."""
    return (*methods(), *(f"{method}_{data}" for data in data_sets() for method in methods()))


def parts_of(name: str) -> tuple[str, str] | None:
    """Split a name into method and data set, which is empty for a method by itself; None where there is no such."""
    name = name.removesuffix(".yml")
    if name in methods():
        return name, ""
    pairs = ((method, name.removeprefix(f"{method}_")) for method in methods())
    return next((pair for pair in pairs if pair[1] != name and pair[1] in data_sets()), None)


def measured(data: str) -> list[str]:
    """Return the methods that have a result on a data set in ``benchmarks``."""
    names: list[str] = read_yaml(data_sets()[data])[0].get(MEASURED, [])
    return names


def read_configuration(name: str | Path) -> tuple[Keys, Problems]:
    """Read a YAML file, or the packaged configuration of a name with or without ``.yml``.

    Raises:
        ConfigError: There is neither; or the file is no YAML mapping.
    """
    if os.path.isfile(name):
        return read_yaml(Path(name))
    return _read_packaged(*_parts(str(name)))


def _parts(name: str) -> tuple[str, str]:
    if parts := parts_of(name):
        return parts
    near = difflib.get_close_matches(Path(name).name, [f"{known}.yml" for known in packaged_names()], n=NEAREST)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    fix = f"check the path; {meant}`plant list configurations` shows all that come with the package"
    raise ConfigError("no such file, and no packaged configuration of this name", where=f"--config {name}", fix=fix)


def _read_packaged(method: str, data: str) -> tuple[Keys, Problems]:
    name = f"{method}_{data}" if data else method
    of_method, places = read_yaml(methods()[method])
    values: Keys = {}
    problems = Problems(Path(f"{name}.yml"))
    is_linear = of_method.get("linear", False)
    if not data:
        problems.lines = places.lines
        return ({} if is_linear else {"choose": True}) | of_method, problems  # lengths and epochs follow from the data
    ours = not is_linear and registry.get("networks", of_method["model_name"]).ours
    layers = [*_layers(data)]
    for content, lines in layers:  # blocks are for networks of this package
        shared = {key: value for key, value in content.items() if ours or not isinstance(value, dict)}
        _lay_over(values, problems, shared, lines, "")
    _lay_over(values, problems, of_method, places.lines, "")
    for content, lines in layers:
        for names, differing in content.get(METHODS, {}).items():
            if method in names.split(", "):
                _lay_over(values, problems, differing, lines, f"{METHODS}.{names}.")
    for key in (LIKE, METHODS, MEASURED):
        values.pop(key, None)
    return values, problems


def _layers(data: str) -> Iterator[tuple[Keys, dict[str, tuple[Path, int]]]]:
    """Yield what a data set's file says and where, after what the file says that it is like."""
    content, problems = read_yaml(data_sets()[data])
    if LIKE in content:
        yield from _layers(content[LIKE])
    yield content, problems.lines


def _lay_over(
    values: Keys, problems: Problems, above: Mapping[str, Value], lines: Mapping[str, tuple[Path, int]], prefix: str
) -> None:
    """Let what ``above`` says hold, key by key in blocks, and note its lines, which are under ``prefix``."""
    for key, value in above.items():
        inner = value if isinstance(value, dict) else {}
        values[key] = {**values.get(key, {}), **inner} if inner else value
        for dotted in (key, *(f"{key}.{name}" for name in inner)):
            problems.lines[dotted] = lines[prefix + dotted]


def text_of(name: str) -> str:
    """Return a file's text, or that of a packaged configuration as one file, each key with the comment in its place.

    Raises:
        ConfigError: There is none of this name.
    """
    if os.path.isfile(name):
        return Path(name).read_text(encoding="utf-8")
    method, data = _parts(name)
    values, problems = _read_packaged(method, data)
    shown = [f"# libmultilabel --config {name.removesuffix('.yml')}.yml", "#", *_head(methods()[method])]
    shown += ["#", *_head(data_sets()[data])] if data else []
    commented: set[tuple[Path, int]] = set()

    def line(key: str, text: str) -> str:
        place = problems.lines.get(key)
        if place is None or place in commented:  # a line may hold several keys
            return text
        commented.add(place)
        comment = COMMENT.search(_lines(place[0])[place[1] - 1])
        return f"{text}  {comment[1]}" if comment else text

    shown.append("")
    for key, value in sorted(values.items(), key=lambda item: [*FIELDS].index(item[0])):
        if isinstance(value, dict):
            shown += [line(key, f"{key}:")]
            shown += [line(f"{key}.{inner}", f"  {inner}: {spelled(each)}") for inner, each in value.items()]
        else:
            shown.append(line(key, f"{key}: {spelled(value)}"))
    return "\n".join(shown) + "\n"


def spelled(value: object) -> str:
    """Return a value as YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True).rstrip().removesuffix("\n...")


def summary(path: Path) -> str:
    """Return the first line of a method's or a data set's file, which says what it is."""
    return _lines(path)[0].removeprefix("# ")


def _head(path: Path) -> list[str]:
    """Return the comment lines that a file begins with."""
    lines = _lines(path)
    return lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
