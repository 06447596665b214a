"""What ``plant predict`` writes: ``--output`` and what belongs to it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import click

from plant_plugin.commands.printing import raw_csv_option
from plant_plugin.errors import ConfigError

OUTPUTS = ("jsonl", "csv", "scores", "fhir")


class Form(NamedTuple):
    """What is written of a prediction, see :func:`plant_plugin.model.prediction_files.written`."""

    output: str
    system: str | None
    raw_csv: bool
    rules: bool


def writes_predictions(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as ``form_written``."""

    @click.option("--output", type=click.Choice(OUTPUTS), default="jsonl", show_default=True,
                  help="scores: label:logit, as in predictions.txt; fhir: R4, suggested Conditions.")  # fmt: skip
    @click.option(
        "--system",
        metavar="URL",
        help="Code system of the labels in FHIR; known only where all are codes of ICD-10-CM or ICD-9-CM.",
    )
    @click.option(
        "--rules", is_flag=True, help="Hints by the rules of ICD-10-CM beside its codes; FHIR always has them."
    )
    @raw_csv_option
    @functools.wraps(command)
    def with_form(*, output: str, system: str | None, raw_csv: bool, rules: bool, **options: object) -> None:
        if system is not None and output != "fhir":
            fix = "give --output fhir, or leave it out"
            raise ConfigError("only FHIR names a code system", where="--system", fix=fix)
        if rules and output == "scores":
            raise ConfigError("scores have no place for hints", where="--rules", fix="give another --output")
        command(form_written=Form(output, system, raw_csv, rules), **options)

    return with_form
