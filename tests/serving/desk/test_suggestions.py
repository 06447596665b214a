"""Suggestions of a model."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.store import Desk, Suggestions
from plant_plugin.serving.desk.suggestions import entropies, suggest


def test_entropy_is_the_formula() -> None:
    logits = np.array([[0.0, 2.0, -3.0], [500.0, -500.0, 0.0]], dtype=np.float32)
    probability = 1 / (1 + np.exp(-logits[0].astype(float)))
    literal = -(probability * np.log(probability) + (1 - probability) * np.log(1 - probability)).sum()
    assert entropies(logits) == pytest.approx([literal, np.log(2)])


def test_the_largest_share_that_lists_a_code_is_kept_with_it(
    desk: Desk, predictor: Predictor, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = predictor.predict([texts[0]], top=2)[0].labels
    between = (first.logit + second.logit) / 2
    monkeypatch.setattr(predictor, "thresholds", {**predictor.thresholds, "accept 0.8": -99.0, "accept 0.9": between})
    [document] = desk.add_documents([("a", texts[0])])
    desk.suggest("model", [(document, suggest(predictor, texts[:1])[0])])
    kept = desk.suggested()[document, "model"]
    assert [one["accepted"] for one in kept] == [0.9] + [0.8] * (len(kept) - 1)


def test_suggestions_of_an_older_file_promise_nothing(desk: Desk) -> None:
    desk.add_documents([("a", "fever")])
    old = Suggestions([{"label": "R50", "probability": 0.9, "predicted": True, "spans": []}], 0.5)
    desk.suggest("model", [(1, old)])
    assert desk.suggested() == {(1, "model"): old.labels}
