"""Ends of a command that are no fault of the program: Ctrl-C and a full disk. No traceback for either."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from plant_plugin.errors import FullDiskError
from plant_plugin.files import is_full

EXIT_CODE = 130  # 128 + SIGINT


@contextlib.contextmanager
def plain_ending() -> Iterator[None]:
    """Turn Ctrl-C inside the block into exit code 130; click itself would print "Aborted!" and exit with 1.

    Raises:
        click.exceptions.Exit: After Ctrl-C, also where Lightning answered it with ``sys.exit(1)``.
        FullDiskError: Where the system's own error says so, e.g. of what the output is sent to.
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
