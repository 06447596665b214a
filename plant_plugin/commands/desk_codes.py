"""Options of ``plant desk add-documents`` for coded documents: how they are read, and whether their codes exist."""

from __future__ import annotations

import functools

import click
from click.core import ParameterSource

from plant_plugin.commands.shared import Command, names_option
from plant_plugin.errors import ConfigError, needs_extra

READING = {"form": "--input", "skip_bad": "--skip-bad"}


def looks_codes_up(command: Command) -> Command:
    """The options; the command takes as ``check`` what says which codes are not known."""

    @functools.wraps(command)
    def with_check(names: tuple[str, ...], take_unknown: bool, coded_by: str | None, **options: object) -> None:
        if (names or take_unknown) and coded_by is None:
            raise ConfigError("only coded documents have codes", where="--names", fix="leave it out, or --coded-by")
        if take_unknown and not names:
            raise ConfigError("nothing says which codes are known", where="--take-unknown", fix="give --names, too")
        here = click.get_current_context()
        for name, flag in READING.items() if coded_by is not None else ():
            if here.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise ConfigError("--coded-by reads a file to train on, by its ending", where=flag, fix="leave out one")
        with needs_extra("serve", "a desk needs SQLAlchemy"):
            from plant_plugin.serving.desk.listed import Check, check_labels, unchecked

        check: Check = unchecked
        if names:
            from plant_plugin.data.label_names import label_names

            check = check_labels(label_names(names), take=take_unknown)
        elif coded_by is not None:
            click.echo("Whether its codes exist was not looked up: --names says where to.", err=True)
        command(coded_by=coded_by, check=check, **options)

    line = "Take codes that --names does not know, and mark them in exports."
    return names_option(click.option("--take-unknown", is_flag=True, help=line)(with_check))
