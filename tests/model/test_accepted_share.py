"""What is promised of a single label, in explanations and on their page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin import Predictor
from plant_plugin.model.accepted_share import accepted_share
from plant_plugin.model.formats import as_dictionary
from plant_plugin.model.page import page

THRESHOLDS = {"0.5": 0.0, "micro": -0.5, "promise 0.9": -3.0, "accept 0.8": 0.5, "accept 0.95": 2.0, "accept 0.9": 1.25}


@pytest.mark.parametrize(
    ("logit", "share"), [(-1.0, None), (0.5, None), (0.6, 0.8), (1.25, 0.8), (1.5, 0.9), (2.5, 0.95), (9.0, 0.95)]
)
def test_the_strongest_promise_that_covers_the_score_counts(logit: float, share: float | None) -> None:
    """A label is above a threshold only where its score is greater."""
    assert accepted_share(THRESHOLDS, logit) == share


def test_a_model_that_promises_nothing_says_nothing() -> None:
    assert accepted_share({"0.5": 0.0, "micro": -0.5}, 9.0) is None


def test_explanations_and_their_page_say_it(trained: Path) -> None:
    predictor = Predictor.load(trained, device="cpu")
    predictor.thresholds = {"0.5": 0.0}
    first, second = predictor.explain("filler1 sign3x", top=2).labels
    predictor.thresholds["accept 0.9"] = (first.scored.logit + second.scored.logit) / 2
    explanation = predictor.explain("filler1 sign3x", top=2)
    shares = [label.get("accepted") for label in as_dictionary(explanation)["labels"]]
    assert shares == [0.9, None]
    data = json.loads(page([explanation]).partition('id="data">')[2].partition("</script>")[0])
    assert [label.get("accepted") for label in data["models"][0]["labels"]] == shares
