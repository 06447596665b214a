"""What adds to a logit is scaled as the logit is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from marked_task import marked_config, write_marked_splits

from plant_plugin import Predictor
from plant_plugin.training.run import run

TEXT = "Filler1 sign3x mark3y filler2. Filler4 sign5x filler9 mark5y filler7."


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("log_odds")
    write_marked_splits(folder)
    config = marked_config(folder, planted_scores__weight=1.0)
    run(config)
    return Predictor.load(Path(config.checkpoint_dir), device="cpu")


@pytest.mark.parametrize(
    "changes",
    [
        {"slope_below": 1.0, "slope_above": 1.0, "at_offset": 0.0},
        {"slope_below": 3.0, "slope_above": 0.5, "offset": 0.125, "at_offset": -0.5},
        {"slope_below": 0.25, "slope_above": 2.0, "offset": 1.0, "at_offset": 0.25},
    ],
)
def test_words_terms_and_the_rest_sum_to_the_logit(predictor: Predictor, changes: dict[str, Any]) -> None:
    predictor.log_odds = replace(predictor.log_odds, **changes)
    logits = predictor.logits([TEXT])[0]
    assert logits.min() < predictor.log_odds.at_offset < logits.max()
    for label in predictor.explain(TEXT, predictor.labels).labels:
        assert label.contribution is not None
        total = label.contribution.sum() + label.elsewhere + label.bias + label.planted
        assert total == pytest.approx(logits[predictor.column_of[label.scored.label]], abs=1e-4)
