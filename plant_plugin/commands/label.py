"""``plant label``: what a model knows of a label."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from pathlib import Path

import click

from plant_plugin.commands.shared import COUNT, MODEL, as_json, json_option, load_predictor, model_options


@click.command()
@click.argument("model", type=MODEL)
@click.argument("label")
@click.option("--top", default=15, show_default=True, type=COUNT, help="Tokens and labels to show.")
@json_option
@model_options
def label(model: Path, label: str, top: int, shows_json: bool, device: str | None, names: tuple[str, ...]) -> None:
    """Show what the run folder MODEL knows of LABEL.

    Its tokens by relevance (MIG) and by the learned attention alone, its terms by the planted scores, the labels whose
    attention is alike, how many documents have it, and its F1 on validation and test documents.
    """
    from plant_plugin.model.label_profile import label_profile

    found = label_profile(load_predictor(model, device, names), label, top)
    if shows_json:
        click.echo(as_json(asdict(found)))
        return
    click.echo(f"{found.label} {found.name or ''}".rstrip())
    if found.statistics is not None:
        if found.statistics.train_count is not None:
            of = f" of {found.num_train:,}" if found.num_train else ""
            click.echo(f"  in {found.statistics.train_count:,}{of} training documents")
        click.echo(_reached("validation", found.statistics.validation_count, found.statistics.validation_f1))
    if found.test_f1 is not None:
        click.echo(_reached("test", found.test_count or 0, found.test_f1))
    columns = {"by MIG": found.relevant, "by learned attention": found.attended, "by planted scores": found.terms}
    shown = {heading: rows for heading, rows in columns.items() if rows}
    click.echo("\n" + "".join(f"{heading:<34}" for heading in shown).rstrip())
    for row in itertools.zip_longest(*shown.values()):
        cells = ["" if found is None else f"{found[0]:<23}{found[1]:>7.3f}" for found in row]
        click.echo("".join(f"  {cell:<32}" for cell in cells).rstrip())
    if found.nearest:
        click.echo("\nlabels with the most similar attention")
        for other, name, cosine in found.nearest:
            click.echo(f"  {cosine:>6.3f}  {other} {name or ''}".rstrip())


def _reached(split: str, count: int, f1: dict[str, float]) -> str:
    values = ", ".join(f"{value:.3f} at threshold {name}" for name, value in f1.items())
    return f"  in {count:,} {split} documents; F1 there: {values}"
