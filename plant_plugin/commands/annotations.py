"""The options of commands that read annotations: what of them counts, and what is done with bad ones."""

from __future__ import annotations

import functools

import click

from plant_plugin.commands.shared import Command, all_of

several = functools.partial(click.option, multiple=True, metavar="NAME")

OPTIONS = all_of(
    several("--without", help="Leave out marks with this attribute (Negated, Certainty=Low); several times."),
    several("--terminology", "terminologies", help="Only codes of this one (ICD10 of ICD10:I10); several times."),
    click.option(
        "--annotators", default="union", show_default=True, metavar="union|majority|NAME",
        help="Of a document with several: all labels, those of more than half, or those of one, by number or name "
        "(completed_by; its folder in brat, its file of doccano).",
    ),
    click.option("--skip-bad", is_flag=True, help="Leave out bad documents and marks, and say how many."),
    click.option("--repair", is_flag=True, help="Find marks that do not hold their words again nearby."),
)  # fmt: skip


def chooses_annotations(command: Command) -> Command:
    """Options of what counts, which the command takes as ``choices``."""

    @functools.wraps(command)
    def with_choices(
        without: tuple[str, ...],
        terminologies: tuple[str, ...],
        skip_bad: bool,
        repair: bool,
        annotators: str,
        **options: object,
    ) -> None:
        from plant_plugin.prepare.marked.annotations import Choices

        command(choices=Choices(without, terminologies, annotators, skip_bad, repair), **options)

    return OPTIONS(with_choices)
