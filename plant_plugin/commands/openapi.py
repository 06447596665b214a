"""``plant openapi``: what ``plant serve`` answers, for programs that make clients of it."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands.shared import FILE, as_json, write
from plant_plugin.errors import needs_extra


@click.command()
@click.option("--out", type=FILE, help="Write to this file.")
@click.option("--token", is_flag=True, help="Of a server that asks for a token.")
def openapi(out: Path | None, token: bool) -> None:
    """Print what `plant serve` answers at /v1 as OpenAPI, without starting it; no model is needed."""
    with needs_extra("serve"):
        from plant_plugin.serving.endpoints import description

    text = as_json(description(token=token)) + "\n"
    if out is None:
        click.echo(text, nl=False)
    else:
        write(out, text)
