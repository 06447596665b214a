"""Whether the server is ready; what it answers is tested with models, in tests/model."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from quick_server import Model, ready
from running_server import Running

from plant_plugin.serving.access import Limits


def test_ready_is_503_until_the_model_answers(serve: Callable[..., Running]) -> None:
    model = Model()
    model.gate.clear()
    server = serve(model=model)
    answer = httpx.get(f"{server.url}/ready")
    assert (answer.status_code, answer.json()) == (503, {"status": "starting"})
    assert "plant_ready 0.0" in httpx.get(f"{server.url}/metrics").text
    model.gate.set()
    ready(server)
    assert httpx.get(f"{server.url}/ready").json() == {"status": "ready"}


def test_ready_is_503_while_it_ends_and_all_else_is_answered(serve: Callable[..., Running]) -> None:
    server = serve(Limits(drain_seconds=1.5, last_seconds=1))
    ready(server)
    with httpx.Client(base_url=server.url) as client:
        client.get("/health")
        server.server.should_exit = True
        time.sleep(0.5)
        answer = client.get("/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "ending"})
        assert httpx.post(f"{server.url}/predict", json={"texts": ["a"]}).status_code == 200
    server.thread.join(10)
    assert not server.thread.is_alive()
