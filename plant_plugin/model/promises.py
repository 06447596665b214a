"""What a model promises, for its card."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.evaluation.promises import ACCEPT, Outcome
from plant_plugin.report.promises import read_promises
from plant_plugin.report.tables import percent

HEAD = "| threshold | reached on validation, % | on test, % | labels a document |\n|---|---:|---:|---:|"
SAID = """`promise 0.9` lists so many labels that nine of ten true ones of a document are there, on average; of the
labels of `accept 0.98` 98 of 100 are true. Both were chosen on validation documents, for the options `--promise` and
`--accept` of `plant predict`."""


def promises_of(folder: Path) -> str:
    """Write the table of a run's promises; a sentence where there are none."""
    promises = read_promises(folder)
    tested, rows = promises.get("test", {}), []
    for name, outcome in promises.get("val", {}).items():
        if "labels" in outcome:
            splits = (outcome, tested.get(name, Outcome()))
            shares = [of.get("true") if name.startswith(ACCEPT) else of.get("listed") for of in splits]
            reached = ("–" if share is None else percent(share) for share in shares)
            rows.append(f"| {name} | {' | '.join(reached)} | {outcome['labels']:,.1f} |")
    return "\n".join((SAID, "", HEAD, *rows)) if rows else "It promises no share of true labels."
