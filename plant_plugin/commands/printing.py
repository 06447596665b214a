"""The ways of the commands to the terminal, all through :mod:`plant_plugin.report.printed`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

import click
from typing_extensions import override

from plant_plugin.report.printed import plain, printable, printing

if TYPE_CHECKING:
    from rich.console import Console

raw_csv_option = click.option(
    "--raw-csv", is_flag=True, help="In CSV, do not write ' before a cell that a spreadsheet would take for a formula."
)


def styled(text: str, **style: object) -> None:
    """Print text of our own in a style, without an end of line."""
    click.secho(text, nl=False, file=plain(sys.stdout), **style)  # type: ignore[arg-type]


def data_stream() -> IO[str]:
    """Return standard output for data, which reach a file or a pipe as they are."""
    return sys.stdout if sys.stdout.isatty() else plain(sys.stdout)


def console() -> Console:
    """Return rich's console on standard output, whose colours are its own and no text's."""
    from rich.console import Console
    from rich.segment import Segment

    class OurConsole(Console):
        @override
        def _render_buffer(self, buffer: Iterable[Segment]) -> str:
            parts = (part if part.control else Segment(printable(part.text), part.style) for part in buffer)
            return super()._render_buffer(parts)

    return OurConsole(file=plain(sys.stdout))


class PrintingCommand(click.Command):
    """A command that prints by :func:`printing`, its errors too."""

    @override
    def main(self, *arguments: object, **options: object) -> object:  # type: ignore[override]
        """Run as a program."""
        with printing():
            return super().main(*arguments, **options)  # type: ignore[call-overload]
