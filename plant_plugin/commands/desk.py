"""``plant desk``: coders, documents, figures, exports and backups of the file that ``plant serve --desk`` works on."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.desk_codes import looks_codes_up
from plant_plugin.commands.desk_export import DESK, export_desk, open_desk
from plant_plugin.commands.new_documents import reads_documents, with_labels
from plant_plugin.commands.shared import COUNT, FILE, json_option
from plant_plugin.commands.shared import as_json as json_text
from plant_plugin.errors import needs_extra
from plant_plugin.evaluation.said import counted

if TYPE_CHECKING:
    from plant_plugin.data.tables import Table
    from plant_plugin.serving.desk.figures import Figures
    from plant_plugin.serving.desk.listed import Check

SHOWN_CODES = 30
SQLITE = b"SQLite format 3\0"  # how such a file begins


def is_desk(path: Path) -> bool:
    """Tell whether a file is a database, as a desk is one; what it holds is checked when it is opened."""
    try:
        with open(path, "rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError:  # a folder, or nothing
        return False


@click.group()
def desk() -> None:
    """Coders who decide on codes and mark words in the browser: `plant serve RUN_FOLDER --desk DESK.sqlite`."""


desk.add_command(export_desk)


@desk.command("add-coder")
@DESK
@click.argument("name")
@click.option("--role", type=click.Choice(("coder", "lead")), default="coder", show_default=True,
              help="A lead sees all documents and figures, and a lead's word on a code settles it.")  # fmt: skip
def add_coder(desk_file: Path, name: str, role: str) -> None:
    """Make an account for NAME and print its token, this once; makes DESK.sqlite where it is not there."""
    click.echo(open_desk(desk_file, make=True).people.add(name, role))
    click.echo("This token is not shown again; `plant desk new-token` makes another.", err=True)


@desk.command("new-token")
@DESK
@click.argument("name")
@click.option("--none", "close", is_flag=True, help="No new one: the account is closed, its work stays.")
def new_token(desk_file: Path, name: str, close: bool) -> None:
    """End NAME's old token and sign-ins, and print a new token."""
    token = open_desk(desk_file).people.renew(name, close=close)
    click.echo("closed" if close else token)


@desk.command("add-documents")
@DESK
@reads_documents()
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="Of all these documents; else today.")
@click.option("--coders", "wanted", type=COUNT, default=1, show_default=True, help="How many shall read each document.")
@click.option(
    "--coded-by", help="FILE is one to train on: take its labels, and the evidence file beside it, as NAME's."
)
@looks_codes_up
def add_documents(
    desk_file: Path, documents: Table, date: datetime | None, wanted: int, coded_by: str | None, check: Check
) -> None:
    """Put the documents of FILE into the queue; what is there already stays once."""
    at, day = open_desk(desk_file, make=True), None if date is None else date.date().isoformat()
    if coded_by is None:
        from plant_plugin.data.not_empty import not_empty

        ids = at.add_documents(((document.name, document.text) for document in not_empty(documents)), day, wanted)
    else:
        from plant_plugin.serving.desk.imports import add_coded

        ids = add_coded(
            at, Path(documents.source), at.people.named(coded_by), day, wanted, with_labels(documents), check
        )
    added = sum(map(bool, ids))
    click.echo(f"{counted(added, 'document')} added, {len(ids) - added:,} there before")


@desk.command()
@DESK
@json_option
def agreement(desk_file: Path, as_json: bool) -> None:
    """Print how coders agree with each other and the model, how codes were taken, and the time a document takes."""
    at = open_desk(desk_file)
    from plant_plugin.serving.desk.figures import figures

    counted = figures(at)
    click.echo(json_text(counted) if as_json else _as_text(counted))


def _as_text(figures: Figures) -> str:
    import pandas

    parts = [f"{figures['finished']:,} of {figures['documents']:,} documents are finished"]
    for rows in (figures["coders"], figures["pairs"], figures["principals"], figures["codes"][:SHOWN_CODES]):
        if rows:
            parts.append(pandas.DataFrame(rows).to_string(index=False, na_rep="–"))
    if (more := len(figures["codes"]) - SHOWN_CODES) > 0:
        parts.append(f"and {more:,} more codes: --json")
    return "\n\n".join(parts)


@desk.command()
@DESK
@click.argument("out", type=FILE)
def backup(desk_file: Path, out: Path) -> None:
    """Write DESK.sqlite as it is at one moment to OUT, also while coders work."""
    open_desk(desk_file)
    from plant_plugin.serving.desk.backups import backup as written

    written(desk_file, out)
    click.echo(f"written: {out}", err=True)


@desk.command()
@click.argument("backup_file", metavar="BACKUP", type=FILE)
@DESK
def restore(backup_file: Path, desk_file: Path) -> None:
    """Make DESK.sqlite, which must not be there, from a BACKUP."""
    with needs_extra("serve", "a desk needs SQLAlchemy"):
        from plant_plugin.serving.desk.backups import restore as restored
    restored(backup_file, desk_file)
    click.echo(f"written: {desk_file}", err=True)
