"""``plant codiesp-x``: CodiEsp's measure of codes with their places."""

from __future__ import annotations

import json
from pathlib import Path

import click

from plant_plugin.commands.shared import COUNT, FILE, MODEL, device_option, marked_documents, threshold_option
from plant_plugin.files import write_text


@click.command("codiesp-x")
@click.argument("models", type=MODEL, nargs=-1, required=True, metavar="RUN_FOLDER…")
@threshold_option()
@click.option("--places", type=COUNT, default=3, show_default=True, help="At most so many of a code.")
@click.option("--join", type=click.IntRange(min=0), default=0, show_default=True, metavar="CHARACTERS",
              help="Marked spans at most so far apart are parts of one place.")  # fmt: skip
@click.option("--out", type=FILE, help="Write the numbers as JSON.")
@device_option
def codiesp_x(
    models: tuple[Path, ...],
    threshold: float | str | None,
    places: int,
    join: int,
    out: Path | None,
    device: str | None,
) -> None:
    """Score codes with their places by CodiEsp-X, the runs together: one of the diagnoses, one of the procedures.

    Cases and evidence are those of the runs' test files. A code is found where one of its places holds a coder's and
    has at most ten characters more on either side. How places are made of words is chosen on the validation cases, for
    each run: measure, share of the strongest word, and how far apart words of a place may stand. Evidence files do not
    say which spans are parts of one place; the task counts such a place from its first character to its last.
    """
    from plant_plugin.model import codiesp_x as module
    from plant_plugin.model.predictor import Predictor
    from plant_plugin.model.trained import unrefitted

    texts, marked = module.union_of_cases([marked_documents(model, "test") for model in models])
    predicted, rules = [], []
    for model in models:
        predictor = Predictor.load(model, device=device)
        own_texts, own_marked = marked_documents(model, "val")
        own = module.predicted_codes(Predictor.load(unrefitted(model), device=device), own_texts, threshold)
        rule = module.best_rule(own, module.joined(own_marked, join), places)
        predicted.append((module.predicted_codes(predictor, texts, threshold), rule))
        rules.append({"order": rule.order, "share": rule.share, "gap": rule.gap})
        of_words = f"words by {rule.order}, from {rule.share:.2f} of the strongest, gap {rule.gap}"
        click.echo(f"{model.name}: {of_words}", err=True)
    found = module.codiesp_x(predicted, module.joined(marked, join), places)
    for name, (mean, low, high) in found.items():
        click.echo(f"{name:<10}{100 * mean:>6.1f} [{100 * low:.1f} {100 * high:.1f}]")
    click.echo(f"in %, over {len(texts):,} cases, [95 % interval]", err=True)
    if out is not None:
        write_text(out, json.dumps({"cases": len(texts), "join": join, "rules": rules, **found}, indent=1))
