from __future__ import annotations

import json

import pytest

from plant_plugin import Predictor
from plant_plugin.data.tables import Document
from plant_plugin.model.writing import written

DOCUMENTS = [Document("filler1 sign3x", id="a"), Document("", id="b")]


@pytest.mark.parametrize("output", ["jsonl", "scores", "csv", "fhir"])
def test_every_form_holds_the_predicted_labels_and_counts_empty_documents(predictor: Predictor, output: str) -> None:
    text, counts = written(
        predictor, DOCUMENTS, output=output, system="http://example.org/labels", threshold=None, top=1
    )
    lines = text.splitlines()
    assert len(lines) == 2
    assert "L3" in lines[0]
    assert counts == {"documents": 2, "empty": 1, "cut": 0}
    if output in ("jsonl", "fhir"):
        assert all(isinstance(json.loads(line), dict) for line in lines)
