"""``plant label``: what a model knows of a label."""

from __future__ import annotations

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

    Its tokens by relevance (MIG) and by the learned attention alone, the labels whose attention is alike, how many
    documents have it, and its F1 on validation and test documents.
    """
    import json
    from dataclasses import asdict

    from plant_plugin.data.label_names import label_names
    from plant_plugin.prediction.label_profile import label_profile
    from plant_plugin.prediction.predictor import Predictor

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
    click.echo(f"\n{'by MIG':<34}{'by learned attention':<34}")
    relevant = found.relevant or []
    for place in range(max(len(relevant), len(found.attended))):
        cells = [
            f"  {rows[place][0]:<23}{rows[place][1]:>7.3f}" if place < len(rows) else ""
            for rows in (relevant, found.attended)
        ]
        click.echo(f"{cells[0]:<34}{cells[1]}".rstrip())
    if found.nearest:
        click.echo("\nlabels with the most similar attention")
        for other, name, cosine in found.nearest:
            click.echo(f"  {cosine:>6.3f}  {other} {name or ''}".rstrip())


def _reached(split: str, count: int, f1: dict[str, float]) -> str:
    values = ", ".join(f"{value:.3f} at threshold {name}" for name, value in f1.items())
    return f"  in {count:,} {split} documents; F1 there: {values}"
