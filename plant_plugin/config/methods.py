"""Packaged configurations: ``METHOD_DATA`` is a method on a data set, ``METHOD`` is for anybody's data.

Each method and each data set is a short file of ``packaged/``. A key may be in three places, of which the last holds:
the data set's file, the method's file, and the pair's entry under ``methods`` of the data set. A data set that is
``like`` another says only what differs.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path

from plant_plugin.config import registry
from plant_plugin.config.problems import Problems
from plant_plugin.config.values import Keys, Value
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError

LIKE, METHODS, MEASURED = "like", "methods", "measured"  # keys of a data set's file that are no settings
NEAREST = 3  # names that an error suggests
_parsed = cache(read_yaml)  # of the package's files, which stay as they are: YAML is slow to read


@cache
def methods() -> dict[str, Path]:
    """Return the files of all methods by name."""
    return _files("methods")


@cache
def data_sets() -> dict[str, Path]:
    """Return the files of all data sets by name."""
    return _files("data")


def _files(folder: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(Path(__file__).with_name("packaged").glob(f"{folder}/*.yml"))}


def packaged() -> dict[str, tuple[str, str]]:
    """Return method and data set of every METHOD_DATA, and every METHOD with no data set (an empty text)."""
    pairs = {f"{method}_{data}": (method, data) for data in data_sets() for method in methods()}
    return {method: (method, "") for method in methods()} | pairs


def parts_of(name: str) -> tuple[str, str] | None:
    """Return method and data set of a name with or without ``.yml``; None where there is no such name."""
    return packaged().get(name.removesuffix(".yml"))


def read_configuration(name: str | Path) -> tuple[Keys, Problems]:
    """Read a YAML file, or the packaged configuration of a name with or without ``.yml``.

    Raises:
        ConfigError: There is neither; or the file is no YAML mapping.
    """
    if os.path.isfile(name):
        return read_yaml(Path(name))
    return read_packaged(*named_parts(str(name)))


def named_parts(name: str) -> tuple[str, str]:
    """Split a name as :func:`parts_of` does, or raise a ``ConfigError`` that suggests the nearest names."""
    if parts := parts_of(name):
        return parts
    near = difflib.get_close_matches(Path(name).name, [f"{known}.yml" for known in packaged()], n=NEAREST)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    fix = f"check the path; {meant}`plant list configurations` shows all that come with the package"
    raise ConfigError("no such file, and no packaged configuration of this name", where=name, fix=fix)


def read_packaged(method: str, data: str) -> tuple[Keys, Problems]:
    """Read a method on a data set; without a data set it leaves to the documents what it does not say."""
    name = f"{method}_{data}" if data else method
    of_method, places = deepcopy(_parsed(methods()[method]))
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
    content, problems = deepcopy(_parsed(data_sets()[data]))
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
