"""What the second training of ``refit`` takes over from the first, which lies in its folder."""

from __future__ import annotations

from dataclasses import replace

from plant_plugin.model.folder import read_labels, read_log_odds
from plant_plugin.relevance.planted_scores import PlantedScores, read_weights
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.scoring import Scoring


def with_first_weights(planted: PlantedScores, run: Run) -> PlantedScores:
    """Return planted scores with the weights of the first training, where there was one."""
    first = run.folder / FIRST_PASS
    return replace(planted, **read_weights(first)) if first.is_dir() else planted  # type: ignore[arg-type]


def as_first(scoring: Scoring) -> tuple[Scoring, dict[str, float]] | None:
    """Return the scoring with the log odds of the first training, and its thresholds; None: there was none."""
    first = scoring.run.folder / FIRST_PASS
    if not is_first() or not first.is_dir():
        return None
    return replace(scoring, log_odds=read_log_odds(first)), read_labels(first)[1]
