"""``plant predict --back-off``: a category where its codes are all unlikely, see :mod:`plant_plugin.model.back_off`."""

from __future__ import annotations

import functools
from collections.abc import Callable

import click

from plant_plugin.commands.prediction_forms import Form
from plant_plugin.errors import ConfigError


def backs_off(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option to a command that gets a :class:`.Form`, and as ``back_off`` whether it was given."""

    @click.option(
        "--back-off",
        is_flag=True,
        help="Say the category (E11) where each of its codes alone is too unlikely, and all together are not.",
    )
    @functools.wraps(command)
    def with_back_off(*, form_written: Form, back_off: bool, **options: object) -> None:
        if back_off and form_written.output == "scores":
            raise ConfigError("scores are of labels only", where="--back-off", fix="give another --output")
        command(form_written=form_written, back_off=back_off, **options)

    return with_back_off
