"""``plant list`` and ``plant validate``: what a configuration can name, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.shared import as_json as json_text
from plant_plugin.commands.shared import json_option, registry_option
from plant_plugin.config import registry
from plant_plugin.config.yaml_file import packaged_configs

CONFIGURATIONS = "configurations"
COMMANDS = ("libmultilabel ", "plant ", "first: ")  # how lines in the head of a configuration start that are commands


@click.command("list")
@click.argument("kind", required=False, type=click.Choice([*registry.KINDS, CONFIGURATIONS]))
@json_option
@registry_option
def list_entries(kind: str | None, as_json: bool) -> None:
    """Show networks, strategies, losses, readers, metrics, linear techniques and packaged configurations."""
    shown = [kind] if kind else [*registry.KINDS, CONFIGURATIONS]
    if as_json:
        click.echo(json_text({heading: _rows(heading) for heading in shown}))
        return
    for heading in shown:
        rows = _rows(heading)
        click.secho(heading, bold=True)
        width = max(map(len, rows), default=0)
        for name, text in rows.items():
            click.echo(f"  {name:<{width}}  {text}")
        if heading != shown[-1]:
            click.echo()


def _rows(kind: str) -> dict[str, str]:
    if kind == CONFIGURATIONS:
        return {f"{name}.yml": _first_comment(path) for name, path in packaged_configs().items()}
    return {
        name: entry.summary
        + (f" [needs the extra {entry.needs}]" if entry.needs else "")
        + (f" [{entry.target}, from {entry.origin}]" if entry.origin else "")
        for name, entry in registry.entries(kind).items()
    }


def _first_comment(path: Path) -> str:
    """The first line of the file that says what it is: no command to run, nor the one to run first."""
    comments = [line.lstrip("# ").strip() for line in path.read_text(encoding="utf-8").splitlines() if line[:1] == "#"]
    return next((comment for comment in comments if comment and not comment.startswith(COMMANDS)), "")


@click.command(cls=ConfigCommand)
@click.argument("config")
@json_option
def validate(config: str, as_json: bool, **flags: object) -> None:
    """Check CONFIG, a file or the name of a packaged configuration, with the flags given."""
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    model = f"linear, {settings.linear_technique}" if settings.linear else settings.model_name
    ours = not settings.linear and registry.get("networks", model).ours
    if as_json:
        files = {key: getattr(settings, key) for key in ("training_file", "val_file", "test_file")}
        strategy = settings.strategy if ours else None
        click.echo(json_text({"model": model, "strategy": strategy, **files, "hash": settings.hash()}))
        return
    strategy = f", strategy {settings.strategy}" if ours else ""
    click.echo(f"{settings.config_path}: no problems found")
    click.echo(f"  model: {model}{strategy}")
    click.echo(f"  data: {settings.training_file}, {settings.val_file}, {settings.test_file}")
    click.echo(f"  configuration hash: {settings.hash()[:12]}")
