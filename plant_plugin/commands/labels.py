"""The command that gives a model other names of labels."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands import shared

SHOWN = 10  # labels of each kind that are printed


@click.group()
def labels() -> None:
    """Look after the labels that a model knows by their names."""


@labels.command()
@click.argument("model", type=shared.FOLDER)
@click.option("--names", multiple=True, required=True, metavar="icd9|icd10|icd10pcs|FILE",
              help="All names, old and new; FILE: label TAB name, or a thesaurus. May be repeated.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@shared.json_option
def update(model: Path, names: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Give the run folder MODEL other names of labels, without new training, and say what changed.

    A new code can be said from now on, and one that is gone no more, unless training documents have it.
    """
    from plant_plugin.model.label_update import update_names

    changes = update_names(model, names, lambda line: click.echo(line, err=True), write=not dry_run)
    if as_json:
        click.echo(shared.as_json(changes))
        return
    for name, meaning in (
        ("new", "can be said from now on"), ("renamed", "have other names"), ("gone", "cannot be said any more"),
        ("kept", "have no name any more, but are said as before, as training documents have them"),
    ):  # fmt: skip
        found: list[str] = getattr(changes, name)
        more = f", … ({len(found) - SHOWN:,} more: --json)" if len(found) > SHOWN else ""
        click.echo(f"labels that {meaning}: {len(found):,}{'; ' if found else ''}{', '.join(found[:SHOWN])}{more}")
