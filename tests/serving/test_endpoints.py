"""Paths of a version, beside those that came before; every answer names the model."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from quick_server import Model, ready
from running_server import TOKEN, Running

from plant_plugin.serving.app import create_app
from plant_plugin.serving.endpoints import ModelName, description

OPERATIONS = {"/v1/predict": "predict", "/v1/explain": "explain", "/v1/health": "health", "/v1/ready": "ready"}


def test_operations_have_names_that_a_client_can_call() -> None:
    paths = description()["paths"]
    named = {path: operation["operationId"] for path, methods in paths.items() for operation in methods.values()}
    assert named == OPERATIONS
    for methods in paths.values():
        for operation in methods.values():
            assert re.fullmatch(r"[A-Z][^.]+", operation["summary"])


def test_the_description_is_that_of_a_server() -> None:
    for token in (None, TOKEN):
        assert create_app(Model(), token=token).openapi() == description(token=token is not None)  # type: ignore[arg-type]


def test_only_that_of_a_server_with_a_token_asks_for_one() -> None:
    assert "securitySchemes" not in description()["components"]
    secured = description(token=True)["paths"]
    assert secured["/v1/predict"]["post"]["security"]
    assert "security" not in secured["/v1/ready"]["get"]


def test_every_answer_names_the_model(serve: Callable[..., Running]) -> None:
    model = Model()
    server = serve(model=model)
    ready(server)
    expected = ModelName.of(model).model_dump()  # type: ignore[arg-type]
    assert expected["name"] == "mödel"
    asked = [("GET", "/health", None), ("GET", "/v1/health", None), ("POST", "/predict", {"texts": ["a"]}),
             ("POST", "/v1/predict", {"texts": ["a"]}), ("POST", "/v1/predict", {"texts": 7}), ("GET", "/", None),
             ("GET", "/nothing", None), ("GET", "/v1/ready", None)]  # fmt: skip
    for method, path, question in asked:
        answer = httpx.request(method, server.url + path, json=question)
        found = {part: unquote(answer.headers[f"x-model-{part}"]) for part in expected}
        assert found == expected, path
    assert httpx.post(f"{server.url}/v1/predict", json={"texts": ["a"]}).json()["model"] == expected


def test_who_may_not_ask_learns_no_name(serve: Callable[..., Running]) -> None:
    server = serve(token=TOKEN, hosts=["127.0.0.1"])
    for headers in ({}, {"host": "attacker.example", "authorization": f"Bearer {TOKEN}"}):
        answer = httpx.get(f"{server.url}/v1/health", headers=headers)
        assert answer.status_code in (400, 401)
        assert not [name for name in answer.headers if name.startswith("x-model")]


def test_requests_of_both_paths_go_together(serve: Callable[..., Running]) -> None:
    """The same work for the queue, so that the model reads what comes by either path at once."""
    model = Model()
    server = serve(model=model)
    ready(server)
    jobs = []
    queue = server.server.app.state.queue
    ask = queue.ask

    async def noted(work: object, texts: list[str], question: object) -> object:
        jobs.append((work, question))
        return await ask(work, texts, question)

    queue.ask = noted
    for path in ("/predict", "/v1/predict"):
        assert httpx.post(server.url + path, json={"texts": ["a"]}).status_code == 200
    assert jobs[0] == jobs[1]
