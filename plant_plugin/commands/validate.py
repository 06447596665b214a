"""``plant validate``: everything that is wrong with a configuration, without reading data."""

from __future__ import annotations

from typing import Any

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.config import registry


@click.command(cls=ConfigCommand, context_settings={"max_content_width": 120})
@click.argument("config")
def validate(config: str, **flags: Any) -> None:
    """Check CONFIG, a file or the name of a packaged configuration, with the flags given."""
    from plant_plugin.config import load_config

    settings = load_config(config, overrides_from(flags))
    model = f"linear, {settings.linear_technique}" if settings.linear else settings.model_name
    ours = not settings.linear and registry.get("networks", model).ours
    strategy = f", strategy {settings.strategy}" if ours else ""
    click.echo(f"{settings.config_path}: no problems found")
    click.echo(f"  model: {model}{strategy}")
    click.echo(f"  data: {settings.training_file}, {settings.val_file}, {settings.test_file}")
    click.echo(f"  configuration hash: {settings.hash()[:12]}")
