"""Shared by several commands: how they end, which model and which documents they take, what they write."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from plant_plugin.commands.printing import PrintingCommand
from plant_plugin.config import registry
from plant_plugin.errors import ConfigError, FullDiskError
from plant_plugin.files import is_full, private_files, write_text

if TYPE_CHECKING:
    from plant_plugin.model.predictor import Predictor

EXIT_CODE = 130  # 128 + SIGINT

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
MODEL = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


@contextlib.contextmanager
def plain_ending() -> Iterator[None]:
    """Turn Ctrl-C, also where Lightning answered it with ``sys.exit(1)``, into exit code 130, without "Aborted!".

    Of a full disk that nobody explained, e.g. of what the output is sent to, comes a ``FullDiskError``.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_CODE) from None
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise click.exceptions.Exit(EXIT_CODE) from None
        raise
    except OSError as error:
        if not is_full(error):
            raise
        where = "output" if error.filename is None else str(error.filename)
        raise FullDiskError("the disk is full", where=where, fix="free some space, then do it again") from error


class RegisteredGroup(PrintingCommand, click.Group):
    """A group with the commands of ``registry.yaml`` beside its own, whose names go first.

    All end without a traceback on Ctrl-C and on a full disk.
    """

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        with plain_ending(), private_files():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *registry.entries("commands")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None: there is none."""
        command = super().get_command(ctx, cmd_name)
        if command is None and (entry := registry.entries("commands").get(cmd_name)) is not None:
            command = entry.load()
        return command


def all_of(*options: Decorator) -> Decorator:
    """Several options as one."""
    return lambda command: functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


def _as_probability(context: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """A probability as a number, a name as it is; ``0.5`` is both, and the same."""
    try:
        return value and float(value)
    except ValueError:
        return value


threshold_option = functools.partial(
    click.option, "--threshold", callback=_as_probability, metavar="micro|macro|P", help="As for plant predict."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def in_its_folder(context: click.Context, parameter: click.Parameter, model: Path | None) -> Path | None:
    """Return the folder of a model that is given by its name or file."""
    from plant_plugin.model.places import model_folder

    return model and model_folder(model)


model_argument = click.argument("run_folder", metavar="MODEL", type=MODEL, callback=in_its_folder)
registry_option = click.option(
    "--registry", type=FILE, expose_value=False, callback=lambda context, parameter, file: registry.use(file),
    help="A file of your own with entries that MODEL or the command needs (docs/your_network.md).",
)  # fmt: skip
folder_options = all_of(
    registry_option,
    click.option("--trust-code", is_flag=True,
                 help="Run code that MODEL names: somebody's own network, a language model's own code."),
    click.option("--no-verify", "check", is_flag=True, callback=lambda context, parameter, skipped: not skipped,
                 help="Do not read every file of MODEL to compare it with its manifest."),
)  # fmt: skip


names_option = click.option("--names", multiple=True, metavar="icd9|icd10|icd10pcs|FILE",
                            help="Names of labels; FILE: a table or a thesaurus. May be repeated.")  # fmt: skip


class Load(Protocol):
    """Reads a model folder as the options of a command say."""

    def __call__(self, folder: Path, batch_size: int = 32) -> Predictor:
        """The model, ready for texts."""


def _load(
    folder: Path, batch_size: int = 32, *, names: tuple[str, ...], device: str | None, **checks: bool
) -> Predictor:
    from plant_plugin.data.label_names import label_names
    from plant_plugin.model.folder import read_labels
    from plant_plugin.model.places import model_folder
    from plant_plugin.model.predictor import Predictor

    folder = model_folder(folder)
    of_labels = label_names(names, folder, read_labels(folder)[0] if names else ())
    return Predictor.load(folder, device=device, names=of_labels, batch_size=batch_size, **checks)


def loads_models(*, names: bool = True) -> Decorator:
    """Options of commands that read model folders, which take what reads one as ``load``; ``names``: of labels, too."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_load(
            device: str | None, trust_code: bool, check: bool, names: tuple[str, ...] = (), **options: object
        ) -> None:
            command(
                load=functools.partial(_load, names=names, device=device, trust_code=trust_code, check=check), **options
            )

        return options(with_load)

    device = click.option("--device", help="E.g. cpu or cuda:1; the first GPU where there is one.")
    options = all_of(*([names_option] if names else []), device, folder_options)
    return decorate


def keep(read: Iterable[str | Path], *outs: Path | None) -> None:
    """Refuse to write onto a file that is read: it would be gone.

    Raises:
        ConfigError: One of ``outs`` is one of the files ``read``.
    """
    there = [out for out in outs if out is not None and out.is_file()]
    for path in map(Path, read):
        if any(path.is_file() and out.samefile(path) for out in there):
            what, fix = "this is read, and would be replaced by what is made of it", "choose another file to write"
            raise ConfigError(what, where=str(path), fix=fix)


def count_line(name: str, value: object) -> str:
    """Return a line of a name and what was counted."""
    shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return f"{name.replace('_', ' '):<45} {shown:>12}"


def as_json(content: object) -> str:
    """Content, dataclasses too, as it is printed and written; null where a number is none (NaN)."""
    from pydantic_core import to_json

    return to_json(content, indent=1, inf_nan_mode="null").decode()


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all, and say so."""
    write_text(path, text)
    click.echo(f"written: {path}", err=True)
