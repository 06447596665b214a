"""``plant desk export``, and how commands open the file of a desk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.shared import FILE, FOLDER, count_line
from plant_plugin.errors import ConfigError, needs_extra

if TYPE_CHECKING:
    from plant_plugin.serving.desk.store import Desk

DESK = click.argument("desk_file", metavar="DESK.sqlite", type=FILE)
TRAINING, ACCEPTED = ("libmultilabel", "labelstudio", "brat"), ("csv", "xlsx", "fhir")


def open_desk(path: Path, *, make: bool = False) -> Desk:
    """Open the file of a desk, closed when the command ends; see :class:`plant_plugin.serving.desk.store.Desk`.

    Comes before any other import of ``serving.desk``: it says which extra is not installed.
    """
    with needs_extra("serve", "a desk needs SQLAlchemy"):
        from plant_plugin.serving.desk.store import Desk

    opened = Desk(path, make=make)
    if context := click.get_current_context(silent=True):
        context.call_on_close(opened.close)
    return opened


@click.command("export")
@DESK
@click.option("--out", required=True, type=FOLDER, help="The folder to write into.")
@click.option("--form", type=click.Choice((*TRAINING, *ACCEPTED)), default=TRAINING[0], show_default=True,
              help="train.txt and train_evidence.tsv, another tool's files, or the accepted codes.")  # fmt: skip
@click.option("--system", metavar="ADDRESS", help="Of --form fhir: the code system; else the one that all codes fit.")
def export_desk(desk_file: Path, out: Path, form: str, system: str | None) -> None:
    """Write the documents that coders have finished, with their codes and the words that prove them."""
    if system is not None and form != "fhir":
        raise ConfigError("only FHIR names the code system", where="--system", fix="leave it out, or --form fhir")
    at = open_desk(desk_file)
    from plant_plugin.serving.desk.accepted import write_accepted
    from plant_plugin.serving.desk.export import export

    counts = export(at, out, form) if form in TRAINING else write_accepted(at, out, form, system)
    for name, number in counts.items():
        click.echo(count_line(name, number))
    click.echo(f"written: {out}", err=True)
