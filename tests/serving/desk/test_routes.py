"""All that a server answers at /desk."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.routes import add_desk
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.turns import Refused
from plant_plugin.serving.model_queue import ModelQueue


def test_questions_of_coders_and_leads_are_there(desk: Desk, predictor: Predictor) -> None:
    app = FastAPI()
    app.state.queue = ModelQueue(1, 1.0, 1)
    assert add_desk(app, desk, predictor) is app.state.sitting
    client = TestClient(app)
    assert client.get("/desk/documents").status_code == client.post("/desk/take").status_code == 401
    assert client.post("/desk/decide").status_code == 401
    assert Refused in app.exception_handlers
