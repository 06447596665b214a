"""``--access-log`` of ``plant serve``, and ``--onnx`` of ``plant export``."""

from __future__ import annotations

import functools
from pathlib import Path

import click
from click.core import ParameterSource

from plant_plugin.commands.shared import Command
from plant_plugin.errors import ConfigError, needs_extra

OF_FOLDERS = {"dtype": "--dtype", "lm_weight": "--lm-weight", "languages": "--language"}


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


def exports_onnx(command: Command) -> Command:
    """The option; with it the network alone is written."""

    @functools.wraps(command)
    def with_onnx(run_folder: Path, out: Path, onnx: bool, trust_code: bool, check: bool, **options: object) -> None:
        if not onnx:
            command(run_folder=run_folder, out=out, trust_code=trust_code, check=check, **options)
            return
        here = click.get_current_context()
        for name, flag in OF_FOLDERS.items():
            if here.get_parameter_source(name) is not ParameterSource.DEFAULT:
                raise ConfigError("it is of model folders", where=flag, fix="leave out it or --onnx")
        from plant_plugin.model.onnx_file import export_onnx

        export_onnx(run_folder, out, trust_code=trust_code, check=check)
        click.echo(f"{out}: the network, with words, labels and thresholds in its metadata")

    line = "Make OUT a file of ONNX in its place: the network alone, over words."
    return click.option("--onnx", is_flag=True, help=line)(with_onnx)
