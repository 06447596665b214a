"""``--access-log`` of ``plant serve``."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from plant_plugin.commands.shared import Command
from plant_plugin.errors import needs_extra


def logs_access(command: Command) -> Command:
    """The option; the file is open as long as the command runs."""

    @functools.wraps(command)
    def with_log(access_log: Path | None, **options: object) -> None:
        with needs_extra("serve"):
            from plant_plugin.serving.access_log import opened
        with opened(access_log):
            command(**options)

    kind = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
    line = "Append a JSON line of each request, without its content; -: to standard output."
    return click.option("--access-log", type=kind, metavar="FILE", help=line)(with_log)
