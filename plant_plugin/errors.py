"""One family of errors: each says what is wrong, where, and how to mend it.

The command line prints them as one short paragraph without a traceback; in Python they are ordinary exceptions.
Never put note text, patient or admission ids into a message: file names, line numbers and keys are enough.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator
from typing import IO

import click


class PlantError(click.ClickException):
    """Base of every error that a user can mend.

    Args:
        what: What is wrong, one sentence.
        where: File, line or configuration key, e.g. ``train.txt, line 3``.
        fix: What to do about it.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        self.what, self.where, self.fix = what, where, fix
        parts = [f"{where}: {what}" if where else what]
        if fix:
            parts.append(f"How to fix it: {fix}")
        super().__init__("\n  ".join(parts))


class ConfigError(PlantError):
    """A configuration that cannot run. ``problems`` holds every single one found."""

    def __init__(
        self, what: str, *, where: str | None = None, fix: str | None = None, problems: list[ConfigError] | None = None
    ) -> None:
        super().__init__(what, where=where, fix=fix)
        self.problems: list[ConfigError] = problems or [self]


class DataError(PlantError):
    """A data file that is missing, empty or not of the promised format."""


class CheckpointError(PlantError):
    """A checkpoint that is torn, foreign, or made for other labels, vocabulary or configuration."""


class MissingExtraError(PlantError):
    """Something optional is not installed; ``fix`` holds the command that installs it."""


@contextlib.contextmanager
def needs_extra(extra: str, what: str = "", *, where: str | None = None, otherwise: str = "") -> Iterator[None]:
    """Import inside the block what an extra of this package brings.

    Args:
        extra: Its name.
        what: What cannot be done without; the module that is missing, unless given.
        where: As of the error.
        otherwise: What to do instead, after a comma.

    Raises:
        MissingExtraError: It is not installed, or does not load.
    """
    try:
        yield
    except ImportError as error:
        fix = f"pip install 'plant-plugin[{extra}]'{otherwise and ', '}{otherwise}"
        raise MissingExtraError(what or f"{error.name} is not installed", where=where, fix=fix) from error


class FullDiskError(PlantError):
    """Nothing more fits on the disk, into the quota, or under the limit on the size of files."""


class Interrupted(PlantError):
    """Stopped by the user; ``fix`` says how to resume. The exit code is that of Ctrl-C."""

    exit_code = 130


class Stopped(Interrupted):
    """Ended by SIGTERM with its state saved; not an error, so the exit code is 0."""

    exit_code = 0

    def show(self, file: IO[str] | None = None) -> None:
        """Print the message; click would put "Error" before it."""
        click.echo(self.message, file=file, err=True)


class Terminated(Stopped):
    """Ended by SIGTERM with nothing saved; the exit code is that of the signal."""

    exit_code = 143


def suggestion(name: str, known: tuple[str, ...] | list[str]) -> str:
    """Return ``did you mean X?`` with the nearest known name, or all of them where none is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    near = difflib.get_close_matches(str(name).lower(), by_lower, n=1)
    return f"did you mean {by_lower[near[0]]}?" if near else f"one of {', '.join(known)}"
