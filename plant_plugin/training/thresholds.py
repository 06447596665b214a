"""Tune the thresholds of a trained model, and make its scores log odds."""

from __future__ import annotations

from dataclasses import replace

from plant_plugin.report.result import note_thresholds, tune_on_validation
from plant_plugin.training.devices import is_first
from plant_plugin.training.log_odds import Pairs, in_log_odds
from plant_plugin.training.scoring import Scoring


def tune_thresholds(scoring: Scoring) -> tuple[Scoring, dict[str, float]]:
    """Tune thresholds on validation documents, make that of micro-F1 the probability 0.5, and the others log odds.

    Linear scores shift all logits by what has no meaning. So that threshold becomes the offset of the planted scores
    and is taken off every logit and off the thresholds that were tuned before that; what is left has their slopes.
    """
    if not is_first():
        return scoring, {}
    planted, scored, run = scoring.planted, scoring.scored(), scoring.run
    pairs = Pairs()
    tuned = tune_on_validation(run, replace(scored, validation=pairs.counted(scored.validation)))
    if tuned and planted and planted.weight:
        planted, tuned = in_log_odds(planted, tuned, pairs)
        scoring = replace(scoring, planted=planted)
    return scoring, note_thresholds(run, scored, tuned)
