"""Choose thresholds that promise something on validation documents, and measure them on those of the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from plant_plugin.evaluation.promises import PROMISE, Lists, is_promise, named
from plant_plugin.report.promises import note_promises
from plant_plugin.report.result import Result, report
from plant_plugin.training.devices import is_first
from plant_plugin.training.known_labels import known_labels
from plant_plugin.training.scoring import Scoring

SAID = named(PROMISE, 0.9)


def promised(scoring: Scoring) -> dict[str, float]:
    """Return the thresholds by name, and note what each does to validation documents; none without these."""
    batches, run = scoring.scored().validation, scoring.run
    if batches is None or not is_first():
        return {}
    with run.phase("thresholds"):
        lists = Lists(known_labels(scoring))
        for _ in lists.reading(batches()):
            pass
        chosen, outcomes = lists.thresholds()
    note_promises(run.folder, "val", outcomes)
    if SAID in chosen:
        run.log(f"nine of ten true labels are among {outcomes[SAID]['labels']:.1f} a document (--promise 0.9)")
    return chosen


def tested(scoring: Scoring, thresholds: Mapping[str, float]) -> Result:
    """Report a model at its other thresholds, and note what its promises do to the same documents."""
    scored, lists, run = scoring.scored(), Lists(known_labels(scoring)), scoring.run
    promises = {name: value for name, value in thresholds.items() if is_promise(name)}
    batches = scored.test
    if batches is not None and promises:
        scored = replace(scored, test=lambda: lists.reading(batches()))
    result = report(
        scoring.settings, run, scored, {name: thresholds[name] for name in thresholds if name not in promises}
    )
    if lists.documents and scoring.settings.test_filter_file is None:
        note_promises(run.folder, "test", lists.outcomes(promises))
    return result
