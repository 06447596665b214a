"""``plant label``: what a model knows of a label."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from plant_plugin.commands import shared
from plant_plugin.evaluation.said import counted


@click.command()
@click.argument("model", type=shared.MODEL)
@click.argument("label")
@click.option("--top", default=15, show_default=True, type=shared.COUNT, help="Tokens and labels to show.")
@shared.json_option
@shared.loads_models()
def label(model: Path, label: str, top: int, as_json: bool, load: shared.Load) -> None:
    """Show what the run folder MODEL knows of LABEL.

    Its tokens by relevance (MIG) and by only the learned attention, its terms by the planted scores, the labels whose
    attention is alike, how many documents have it, and its F1 on validation and test documents.
    """
    from plant_plugin.model.label_profile import label_profile

    profile = label_profile(load(model), label, top)
    if as_json:
        click.echo(shared.as_json(profile))
        return
    click.echo(f"{profile.label} {profile.name or ''}".rstrip())
    if profile.statistics is not None:
        if profile.statistics.train_count is not None:
            of = counted(profile.num_train, "training document") if profile.num_train else "the training documents"
            click.echo(f"  in {profile.statistics.train_count:,} of {of}")
        click.echo(_reached("validation", profile.statistics.validation_count, profile.statistics.validation_f1))
    if profile.test_f1 is not None:
        click.echo(_reached("test", profile.test_count or 0, profile.test_f1))
    columns = {"by MIG": profile.relevant, "by learned attention": profile.attended, "by planted scores": profile.terms}
    shown = {heading: rows for heading, rows in columns.items() if rows}
    click.echo("\n" + "".join(f"{heading:<34}" for heading in shown).rstrip())
    for row in itertools.zip_longest(*shown.values()):
        cells = ["" if cell is None else f"{cell[0]:<23}{cell[1]:>7.3f}" for cell in row]
        click.echo("".join(f"  {cell:<32}" for cell in cells).rstrip())
    if profile.nearest:
        click.echo("\nlabels with the most similar attention")
        for other, name, cosine in profile.nearest:
            click.echo(f"  {cosine:>6.3f}  {other} {name or ''}".rstrip())


def _reached(split: str, count: int, f1: dict[str, float]) -> str:
    values = ", ".join(f"{value:.3f} at threshold {name}" for name, value in f1.items())
    return f"  in {counted(count, f'{split} document')}; F1 there: {values}"
