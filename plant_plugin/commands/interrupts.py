"""Ctrl-C ends a command at once: no traceback, nothing printed, and the exit code that shells expect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

EXIT_CODE = 130  # 128 + SIGINT


@contextlib.contextmanager
def quiet_interrupt() -> Iterator[None]:
    """Turn Ctrl-C inside the block into exit code 130; click itself would print "Aborted!" and exit with 1.

    Raises:
        click.exceptions.Exit: After Ctrl-C, also where Lightning answered it with ``sys.exit(1)``.
    """
    try:
        yield
    except KeyboardInterrupt:
        raise click.exceptions.Exit(EXIT_CODE) from None
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise click.exceptions.Exit(EXIT_CODE) from None
        raise
