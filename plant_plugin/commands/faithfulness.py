"""``plant faithfulness``: whether explanations name the words that predictions rest on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import click

from plant_plugin.commands.predict import FOLDER, FORMS, model_options


@click.command(context_settings={"max_content_width": 120})
@click.argument("model", type=FOLDER)
@click.argument("file", default="-")
@click.option("--input", "form", type=click.Choice(FORMS), help="What FILE is; by its ending, else by its first line.")
@click.option("--documents", default=100, show_default=True, type=click.IntRange(min=1), help="The first so many.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of the random orders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@model_options
def faithfulness(
    model: Path,
    file: str,
    form: str | None,
    documents: int,
    seed: int,
    as_json: bool,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Take the strongest words out of the documents of FILE, or leave them alone in, and ask MODEL again.

    Comprehensiveness is the probability that a predicted label loses without them (higher is better), sufficiency what
    it loses with them alone (lower is better); means over 1, 5, 10, 20 and 50 % of the words. A measure that beats
    random and MIG says where the prediction comes from. Each document is scored some hundred times.
    """
    import json
    from dataclasses import asdict

    from plant_plugin.data.new_documents import Documents
    from plant_plugin.model.faithfulness import faithfulness as measured
    from plant_plugin.model.predictor import Predictor

    predictor = Predictor.load(model, device=device)
    found = measured(predictor, (one.text for one in islice(Documents(file, form), documents)), seed=seed)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=1))
        return
    click.echo(f"{'words ordered by':<18}{'comprehensiveness':>20}{'sufficiency':>20}")
    for one in found:
        lost = f"{one.comprehensiveness:.3f} ± {one.comprehensiveness_error:.3f}"
        alone = f"{one.sufficiency:.3f} ± {one.sufficiency_error:.3f}"
        click.echo(f"{one.order:<18}{lost:>20}{alone:>20}")
    click.echo(f"means over {found[0].documents} documents with a predicted label, ± standard error", err=True)
