"""Why a code was not suggested."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from fastapi.testclient import TestClient

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.why import why

TEXT = "filler1 sign3x filler2"


def test_place_probability_threshold_and_words_are_those_of_prediction_and_explanation(predictor: Predictor) -> None:
    ordered = predictor.predict([TEXT], top=len(predictor.labels))[0].labels
    for place in (1, 2, len(ordered)):
        label = ordered[place - 1]
        [found] = why(predictor, [TEXT], label.label)
        assert found is not None
        assert found["place"] == place
        assert found["labels"] == len(predictor.labels)
        assert found["probability"] == pytest.approx(label.probability, abs=1e-6)
        above = {one.label for one in predictor.predict([TEXT])[0].labels}
        assert (found["probability"] > found["threshold"]) == (label.label in above)
    [found] = why(predictor, [TEXT], "L3")
    assert found is not None
    assert [TEXT[start:end] for start, end in found["spans"]][:1] == ["sign3x"]


def test_a_code_that_the_model_does_not_know(predictor: Predictor) -> None:
    assert why(predictor, ["one", "two"], "X99") == [None, None]


def test_only_who_has_the_document_is_told(desk: Desk, predictor: Predictor) -> None:
    desk.add_documents([("case 1", TEXT)])
    with TestClient(create_app(predictor, desk=desk)) as client:
        signed = client.post("/desk/sign-in", json={"token": desk.people.add("ana")}).json()
        asked = {"document": 1, "label": "L3"}
        assert client.get("/desk/why", params=asked).status_code == 409
        client.post("/desk/next", json={"order": "sent"}, headers={"x-csrf": signed["csrf"]})
        assert [client.get("/desk/why", params=asked).json()] == json.loads(json.dumps(why(predictor, [TEXT], "L3")))
        assert client.get("/desk/why", params={**asked, "label": "X99"}).json() is None
