"""Configuration files: found by path or by packaged name, read with the line of every key."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import yaml

from plant_plugin.config.problems import Problems
from plant_plugin.config.registry import suggestion
from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError

DEEPEST = 5  # a mapping that holds itself, through an anchor, has no end


def packaged_configs() -> dict[str, Path]:
    """The configurations that come with this package, by name without ``.yml``."""
    folder = Path(str(files("plant_plugin.config") / "packaged"))
    return {path.stem: path for path in sorted(folder.glob("*.yml"))}


def find_config(name: str | Path) -> Path:
    """The file of ``--config``: a path, or a packaged configuration with or without ``.yml``, or an error."""
    path = Path(name)
    if path.is_file():
        return path
    packaged = packaged_configs()
    if str(name).removesuffix(".yml") in packaged:
        return packaged[str(name).removesuffix(".yml")]
    known = [f"{stem}.yml" for stem in packaged]
    fix = f"check the path; of the packaged configurations: {suggestion(path.name, known)}" if known else None
    raise ConfigError("no such file, and no packaged configuration of this name", where=f"--config {name}", fix=fix)


def read_yaml(path: Path) -> tuple[Keys, Problems]:
    """Values of a configuration file, and the line of each key (``block.key`` in a block) and keys given twice.

    Raises:
        ConfigError: The file cannot be read, or is not a YAML mapping.
    """
    problems = Problems(path)
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the file cannot be read ({type(error).__name__})", where=str(path)) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        reason = getattr(error, "problem", None) or type(error).__name__
        fix = "check the indentation and the quotes there"
        raise ConfigError(f"this is not YAML: {reason}", where=where, fix=fix) from error
    if root is None:
        return {}, problems
    if not isinstance(root, yaml.MappingNode) or not isinstance(values, dict):
        raise ConfigError("a configuration is a list of `key: value` lines", where=str(path))
    _walk(root, "", path, problems)
    return values, problems


def _walk(node: yaml.MappingNode, prefix: str, path: Path, problems: Problems) -> None:
    """Note the line of every key below ``node``; a key given twice would silently lose its first value."""
    for key_node, value_node in node.value:
        key, line = f"{prefix}{key_node.value}", key_node.start_mark.line + 1
        if before := problems.lines.get(key):
            what = f"given twice, in lines {before} and {line}"
            problems.found.append(ConfigError(what, where=f"{key} ({path.name})", fix="remove one of them"))
        problems.lines[key] = line
        if isinstance(value_node, yaml.MappingNode) and key.count(".") < DEEPEST:
            _walk(value_node, f"{key}.", path, problems)
