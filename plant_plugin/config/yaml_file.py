"""Configuration files, read with the line of every key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

from plant_plugin.config.problems import Problems
from plant_plugin.config.scalars import refused, told
from plant_plugin.config.values import Keys, Value
from plant_plugin.errors import ConfigError
from plant_plugin.files import LIMITS, limit

LONGEST = 1 << 17  # characters
MOST_VALUES = 10_000  # each alias counted as all that it repeats
MOST_LEVELS = 50  # of values in values
MORE = f" ({LIMITS}=10 allows ten times as much)"
DEEPEST_NOTED = 5  # a key of a key of …: whose lines are noted


class _Loader(yaml.SafeLoader):
    """Refuses what would take the memory or the time; says where a value is one that cannot be."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose one value, not too deep: each level of nesting costs Python several of its own."""
        self._depth += 1
        if self._depth > (most := limit(MOST_LEVELS)):
            raise refused(f"more than {most} levels of values in values{MORE}", self.peek_event())
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        """Construct a value, if it is one that people read alike."""
        with told(node):
            return super().construct_object(node, deep=deep)


def parse(text: str, look: Callable[[yaml.Node], None] = lambda root: None) -> Value:
    """Parse a text in YAML, as a flag gives it; ``look`` sees its nodes as written, before ``<<`` is merged.

    Raises:
        yaml.YAMLError: It is none, or larger than is allowed.
    """
    if len(text) > (most := limit(LONGEST)):
        raise yaml.YAMLError(f"more than {most:,} characters{MORE}")
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _count(root, {})
        look(root)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _count(node: yaml.Node, counts: dict[int, int | None]) -> int:
    """Count the values in a node, where an alias counts as all that it repeats."""
    if id(node) in counts:
        known = counts[id(node)]
        if known is None:
            raise refused("it holds itself, through an alias", node)
        return known
    counts[id(node)] = None
    inner = node.value if isinstance(node, yaml.CollectionNode) else []
    parts = [part for pair in inner for part in pair] if isinstance(node, yaml.MappingNode) else inner
    total = 1 + sum(_count(part, counts) for part in parts)
    if total > (most := limit(MOST_VALUES)):
        raise refused(f"more than {most:,} values, those of aliases included{MORE}", node)
    counts[id(node)] = total
    return total


def read_yaml(path: Path) -> tuple[Keys, Problems]:
    """Read values of a configuration file, the line of each key (``block.key`` in a block), and keys given twice.

    Raises:
        ConfigError: The file cannot be read, or is not a YAML mapping.
    """
    problems = Problems(path)
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read(limit(LONGEST) + 1)
        values = parse(text, lambda root: _walk(root, "", path, problems))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the file cannot be read ({type(error).__name__})", where=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        fix = "check the indentation and the quotes there"
        raise ConfigError(f"this is not YAML: {reason}", where=where, fix=fix) from error
    if values is None:
        return {}, problems
    if not isinstance(values, dict):
        raise ConfigError("a configuration is a list of `key: value` lines", where=str(path))
    return values, problems


def _walk(node: yaml.Node, prefix: str, path: Path, problems: Problems) -> None:
    """Note the line of every key below ``node``; a key given twice would silently lose its first value."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key_node, value_node in node.value:
        key, line = f"{prefix}{key_node.value}", key_node.start_mark.line + 1
        if before := problems.lines.get(key):
            what = f"given twice, in lines {before[1]} and {line}"
            problems.found.append(ConfigError(what, where=f"{key} ({path.name})", fix="remove one of them"))
        problems.lines[key] = path, line
        if key.count(".") < DEEPEST_NOTED:
            _walk(value_node, f"{key}.", path, problems)
