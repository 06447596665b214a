"""``plant faithfulness``: whether explanations name the words that predictions rest on."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.shared import (
    COUNT,
    MODEL,
    as_json,
    json_option,
    load_predictor,
    model_options,
    reads_documents,
)

if TYPE_CHECKING:
    from plant_plugin.data.new_documents import Documents


@click.command()
@click.argument("model", type=MODEL)
@reads_documents()
@click.option("--documents", "most", default=100, show_default=True, type=COUNT, help="The first so many.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of the random orders.")
@json_option
@model_options
def faithfulness(
    model: Path,
    documents: Documents,
    most: int,
    seed: int,
    shows_json: bool,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Take the strongest words out of the documents of FILE, or leave them alone in, and ask MODEL again.

    Comprehensiveness is the probability that a predicted label loses without them (higher is better), sufficiency what
    it loses with them alone (lower is better); means over 1, 5, 10, 20 and 50 % of the words. A measure that beats
    random and MIG says where the prediction comes from. Each document is scored some hundred times.
    """
    from plant_plugin.model.faithfulness import faithfulness as measured

    predictor = load_predictor(model, device, names)
    found = measured(predictor, (one.text for one in islice(documents, most)), seed=seed)
    if shows_json:
        click.echo(as_json([asdict(one) for one in found]))
        return
    click.echo(f"{'words ordered by':<18}{'comprehensiveness':>20}{'sufficiency':>20}")
    for one in found:
        lost = f"{one.comprehensiveness:.3f} ± {one.comprehensiveness_error:.3f}"
        alone = f"{one.sufficiency:.3f} ± {one.sufficiency_error:.3f}"
        click.echo(f"{one.order:<18}{lost:>20}{alone:>20}")
    click.echo(f"means over {found[0].documents} documents with a predicted label, ± standard error", err=True)
