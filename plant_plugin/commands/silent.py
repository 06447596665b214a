"""``--silent`` of the commands that take the keys of a configuration: nothing but errors is printed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping

import click

from plant_plugin.networks.hub import quiet


@contextlib.contextmanager
def silenced(flags: Mapping[str, object]) -> Iterator[None]:
    """Print nothing to standard output inside the block where ``silent`` is among the flags, libraries nothing at all.

    Errors are raised, or go to standard error.
    """
    if not flags.get("silent"):
        yield
        return
    with quiet(True), open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def teller(flags: Mapping[str, object]) -> Callable[[str], None]:
    """Return a function that prints a line to standard error, unless ``silent`` is among the flags."""

    def say(line: str) -> None:
        if not flags.get("silent"):
            click.echo(line, err=True)

    return say
