"""Tune the thresholds of a trained model, and make its scores log odds."""

from __future__ import annotations

from dataclasses import replace

from plant_plugin.report.result import note_thresholds, tune_on_validation
from plant_plugin.training.devices import is_first
from plant_plugin.training.log_odds import Pairs, in_log_odds
from plant_plugin.training.scoring import Scoring


def tune_thresholds(scoring: Scoring) -> tuple[Scoring, dict[str, float]]:
    """Tune thresholds on validation documents, and fit what makes scores, and these thresholds, log odds.

    Linear scores shift all logits by what has no meaning, and a network is as sure as its loss made it.
    """
    if not is_first():
        return scoring, {}
    scored, run = scoring.scored(), scoring.run
    pairs = Pairs()
    tuned = tune_on_validation(run, replace(scored, validation=pairs.counted(scored.validation)))
    if tuned:
        log_odds, tuned = in_log_odds(tuned, pairs)
        scoring = replace(scoring, log_odds=log_odds)
    return scoring, note_thresholds(run, scored, tuned)
