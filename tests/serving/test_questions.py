"""Requests that are refused before the model is asked."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from plant_plugin.serving.questions import DOCUMENTS, EXPLAINED, ExplainQuestion, PredictQuestion


@pytest.mark.parametrize(
    ("question", "content"),
    [
        (PredictQuestion, {"texts": []}),
        (PredictQuestion, {"texts": ["a"] * (DOCUMENTS + 1)}),
        (PredictQuestion, {"texts": ["\ud800"]}),
        (PredictQuestion, {"texts": ["a"], "threshold": 1.0}),
        (PredictQuestion, {"texts": ["a"], "another": 1}),
        (ExplainQuestion, {"text": "a", "labels": []}),
        (ExplainQuestion, {"text": "a", "top": EXPLAINED + 1}),
    ],
)
def test_questions_that_are_none(question: type[PredictQuestion | ExplainQuestion], content: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        question.model_validate(content)


def test_thresholds_are_names_or_probabilities() -> None:
    for threshold in ("micro", "0.5", "promise 0.9", 0.25, None):
        assert PredictQuestion(texts=["a"], threshold=threshold).threshold == threshold
