"""FILE of the commands that read new documents: one file, or several and folders of texts, and how they are read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import click

from plant_plugin.commands.reading import Flags, columns_of, reads_files
from plant_plugin.commands.shared import Command, Decorator, all_of
from plant_plugin.data.columns import Columns
from plant_plugin.data.several_files import Files, documents_of
from plant_plugin.data.tables import FORMS, STDIN, Table


def reads_documents(
    form: str | None = None,
    text: str = "What each FILE is; by its ending, else by its first line. text: a document.",
    *,
    several: bool = False,
) -> Decorator:
    """FILE and how it is read; the command takes them as ``documents``, without labels."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_documents(
            file: str | tuple[str, ...], form: str | None, skip_bad: bool, flags: Flags, **options: object
        ) -> None:
            columns = columns_of(flags)._replace(labels=None)
            files = (file,) if isinstance(file, str) else file
            documents = documents_of(files, form, columns, skip_bad, "--skip-bad")
            command(documents=documents, **options)
            if documents.note:
                click.echo(documents.note, err=True)
            if (skipped := documents.skipped).count:
                lines = ", ".join(map(str, skipped.lines)) + (", …" if skipped.count > len(skipped.lines) else "")
                click.echo(f"bad lines that were passed over: {skipped.count:,} ({lines})", err=True)

        return options(reads_files(with_documents))

    options = all_of(
        click.argument("file", nargs=-1) if several else click.argument("file", default=STDIN),
        click.option("--input", "form", type=click.Choice(FORMS), default=form, show_default=True, help=text),
        click.option("--skip-bad", is_flag=True, help="Pass over lines that are no document, and say how many."),
    )
    return decorate


def with_labels(documents: Table) -> Columns:
    """Return the columns of documents that a command took, and that of labels."""
    return documents.columns._replace(labels=columns_of(click.get_current_context().params).labels)


def sources(documents: Table) -> Sequence[str | Path]:
    """Return the files that are read for documents that a command took."""
    return documents.paths if isinstance(documents, Files) else [documents.source]
