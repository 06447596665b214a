"""``plant list``, ``show`` and ``validate``: what a configuration can name, says, and what is wrong with one."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import click
import yaml

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.printing import styled
from plant_plugin.commands.shared import as_json as json_text
from plant_plugin.commands.shared import json_option, registry_option
from plant_plugin.config import registry
from plant_plugin.config.listing import keys
from plant_plugin.config.methods import MEASURED, data_sets, methods, named_parts, read_packaged
from plant_plugin.config.rules import is_ours
from plant_plugin.config.sections import FIELDS
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted
from plant_plugin.files import write_text

CONFIGURATIONS, KEYS = "configurations", "keys"
COMMENT = re.compile(r"\s(# .*)$")


@click.command("list")
@click.argument("kind", required=False, type=click.Choice([*registry.KINDS, CONFIGURATIONS, KEYS]))
@json_option
@registry_option
def list_entries(kind: str | None, as_json: bool) -> None:
    """Show networks, strategies, losses, readers, metrics, linear techniques, configurations, or all their keys."""
    if kind == KEYS:
        _list_keys(as_json)
        return
    shown = [kind] if kind else [*registry.KINDS, CONFIGURATIONS]
    if as_json:
        click.echo(json_text({heading: _rows(heading) for heading in shown}))
        return
    for heading in shown:
        rows = _rows(heading)
        styled(f"{heading}\n", bold=True)
        width = max(map(len, rows), default=0)
        for name, text in rows.items():
            click.echo(f"  {name:<{width}}  {text}")
        if heading != shown[-1]:
            click.echo()


def _list_keys(as_json: bool) -> None:
    """Print every key, with what it takes, its default and who reads it, by groups or as JSON."""
    found = [(key, None if key.default is registry.REQUIRED else key.default) for key in keys()]
    if as_json:
        click.echo(json_text([{**key._asdict(), "default": default} for key, default in found]))
        return
    group = ""
    for key, default in found:
        if key.group != group:
            styled(f"{chr(10) if group else ''}{key.group}\n", bold=True)
            group = key.group
        shown = "" if key.default is registry.REQUIRED else f", default {_spelled(default)}"
        used = f" [{', '.join(key.used)}]" if key.used else ""
        click.echo(f"  {key.name} ({key.wanted}{shown}): {key.sentence}{used}")
    click.echo(counted(len(found), "key"))


def _rows(kind: str) -> dict[str, str]:
    if kind == CONFIGURATIONS:
        by_name = {f"{name}.yml": _summary(path) for name, path in methods().items()}
        return by_name | {f"METHOD_{name}.yml": _described(name) for name in data_sets()}
    return {
        name: entry.summary
        + (f" [needs the extra {entry.needs}]" if entry.needs else "")
        + (f" [{entry.target}, from {entry.origin}]" if entry.origin else "")
        for name, entry in registry.entries(kind).items()
    }


def _described(data: str) -> str:
    """Describe a data set, with the methods that have a result on it."""
    results = ", ".join(read_yaml(data_sets()[data])[0].get(MEASURED, []))
    return f"{_summary(data_sets()[data])} [{f'results: {results}' if results else 'no result yet'}]"


def text_of(name: str) -> str:
    """Return a file's text, or that of a packaged configuration as one file, each key with the comment in its place.

    Raises:
        ConfigError: There is none of this name.
    """
    if os.path.isfile(name):
        return Path(name).read_text(encoding="utf-8")
    method, data = named_parts(name)
    values, problems = read_packaged(method, data)
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
            shown += [line(f"{key}.{inner}", f"  {inner}: {_spelled(each)}") for inner, each in value.items()]
        else:
            shown.append(line(key, f"{key}: {_spelled(value)}"))
    return "\n".join(shown) + "\n"


def _spelled(value: object) -> str:
    """Return a value as YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True).rstrip().removesuffix("\n...")


def _summary(path: Path) -> str:
    """Return the first line of a method's or a data set's file, which says what it is."""
    return _lines(path)[0].removeprefix("# ")


def _head(path: Path) -> list[str]:
    """Return the comment lines that a file begins with."""
    lines = _lines(path)
    return lines[: next(number for number, line in enumerate(lines) if not line.startswith("#"))]


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@click.command()
@click.argument("name")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it, as the start of one's own.")
def show(name: str, out: Path | None) -> None:
    """Print the packaged configuration NAME, a METHOD or METHOD_DATA of `plant list configurations`, as one file."""
    text = text_of(name)
    if out is None:
        click.echo(text, nl=False)
        return
    if out.exists():
        raise ConfigError("it is there already", where=str(out), fix="name another file")
    write_text(out, text)
    click.echo(f"{out}: change it, then libmultilabel --config {out}")


@click.command(cls=ConfigCommand)
@click.argument("config")
@json_option
def validate(config: str, as_json: bool, **flags: object) -> None:
    """Check CONFIG, a file or the name of a packaged configuration, with the flags given."""
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    model = f"linear, {settings.linear_technique}" if settings.linear else settings.model_name
    ours = is_ours(settings)
    if as_json:
        files = {key: getattr(settings, key) for key in ("training_file", "val_file", "test_file")}
        strategy = settings.strategy if ours else None
        click.echo(json_text({"model": model, "strategy": strategy, **files, "hash": settings.hash()}))
        return
    strategy = f", strategy {settings.strategy}" if ours else ""
    click.echo(
        f"{settings.config_path}: no problems found\n"
        f"  model: {model}{strategy}\n"
        f"  data: {settings.training_file}, {settings.val_file}, {settings.test_file}\n"
        f"  configuration hash: {settings.hash()[:12]}"
    )
