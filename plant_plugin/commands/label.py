"""``plant label``: what a model knows of a label."""

from __future__ import annotations

import itertools
from pathlib import Path

import click

from plant_plugin.commands.predict import FOLDER, model_options


@click.command(context_settings={"max_content_width": 120})
@click.argument("model", type=FOLDER)
@click.argument("label")
@click.option("--top", default=15, show_default=True, type=click.IntRange(min=1), help="Tokens and labels to show.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@model_options
def label(model: Path, label: str, top: int, as_json: bool, device: str | None, names: tuple[str, ...]) -> None:
    """Show what the run folder MODEL knows of LABEL.

    Its tokens by relevance (MIG) and by the learned attention alone, its terms by the planted scores, the labels whose
    attention is alike, how many documents have it, and its F1 on validation and test documents.
    """
    import json
    from dataclasses import asdict

    from plant_plugin.data.label_names import label_names
    from plant_plugin.model.label_profile import label_profile
    from plant_plugin.model.predictor import Predictor

    known = label_names(names, model)
    found = label_profile(Predictor.load(model, device=device, names=known), label, top)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False, indent=1))
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
        click.echo("".join(f"  {_cell(found):<32}" for found in row).rstrip())
    if found.nearest:
        click.echo("\nlabels with the most similar attention")
        for other, name, cosine in found.nearest:
            click.echo(f"  {cosine:>6.3f}  {other} {name or ''}".rstrip())


def _cell(found: tuple[str, float] | None) -> str:
    return "" if found is None else f"{found[0]:<23}{found[1]:>7.3f}"


def _reached(split: str, count: int, f1: dict[str, float]) -> str:
    values = ", ".join(f"{value:.3f} at threshold {name}" for name, value in f1.items())
    return f"  in {count:,} {split} documents; F1 there: {values}"
