"""``plant serve``, asked by a real client over a real connection."""

from __future__ import annotations

import hashlib
import logging
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from running_server import TOKEN, Running

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving import connections
from plant_plugin.serving.access import Limits, server_names
from plant_plugin.serving.app import create_app

LIMITS = Limits(body_bytes=20_000, waiting=80, seconds=20, drain_seconds=0)
SECRET = "sign3x patientnamedsecret"


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu", names={"L3": "the third"}.get)


@pytest.fixture(scope="module")
def url(predictor: Predictor) -> Iterator[str]:
    with Running(create_app(predictor, LIMITS, server_names("127.0.0.1")), LIMITS) as server:
        yield server.url


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30) as found:
        yield found


def test_health(client: httpx.Client) -> None:
    found = client.get("/health").json()
    assert (found["status"], found["model"], found["labels"]) == ("ok", "PLANT", 12)
    assert {"0.5", "micro", "macro", "promise 0.9"} <= set(found["thresholds"])


def test_predictions_are_those_of_the_predictor(client: httpx.Client, predictor: Predictor) -> None:
    texts = ["filler1 sign3x", "sign5x sign5x", ""]
    answer = client.post("/predict", json={"texts": texts, "top": 2})
    assert answer.status_code == 200
    expected = predictor.predict(texts, top=2)
    for found, prediction in zip(answer.json()["predictions"], expected, strict=True):
        assert [one["label"] for one in found["labels"]] == [one.label for one in prediction.labels]
        assert [one["logit"] for one in found["labels"]] == pytest.approx([one.logit for one in prediction.labels])
        assert found["tokens"] == prediction.tokens
    assert answer.json()["predictions"][0]["labels"][0]["name"] == "the third"
    assert answer.headers["cache-control"] == "no-store"


def test_an_exported_model_is_served(trained: Path, predictor: Predictor, tmp_path: Path) -> None:
    out = tmp_path / "model"
    assert CliRunner().invoke(plant, ["export", str(trained), "--out", str(out)]).exit_code == 0
    exported = Predictor.load(out, device="cpu")
    with (
        Running(create_app(exported, LIMITS, server_names("127.0.0.1")), LIMITS) as server,
        httpx.Client(base_url=server.url, timeout=30) as client,
    ):
        answer = client.post("/predict", json={"texts": ["filler1 sign3x"], "top": 2}).json()["predictions"]
        told = client.post("/explain", json={"text": "filler1 sign3x", "top": 1})
    (expected,) = predictor.predict(["filler1 sign3x"], top=2)
    assert [one["logit"] for one in answer[0]["labels"]] == pytest.approx([one.logit for one in expected.labels])
    assert told.status_code == 200


def test_answers_under_v1_are_those_of_before_and_name_the_model(
    client: httpx.Client, predictor: Predictor, trained: Path
) -> None:
    manifest = hashlib.sha256((trained / "manifest.json").read_bytes()).hexdigest()
    model = {"name": trained.name, "version": version("plant-plugin"), "hash": manifest}
    for path, question in (
        ("/predict", {"texts": ["filler1 sign3x", ""], "top": 2}), ("/explain", {"text": "filler1 sign3x"})
    ):  # fmt: skip
        before, now = client.post(path, json=question), client.post(f"/v1{path}", json=question)
        assert now.json() == {**before.json(), "model": model}
        for answer in (before, now):
            assert {part: answer.headers[f"x-model-{part}"] for part in model} == model
    health = client.get("/v1/health").json()
    assert health["model"] == model
    assert (health["network"], health["labels"]) == ("PLANT", len(predictor.labels))
    assert client.get("/health").json()["hash"] == manifest


def test_thresholds(client: httpx.Client) -> None:
    def count(**question: Any) -> int:
        answer = client.post("/predict", json={"texts": ["filler1 sign3x"], **question})
        return len(answer.json()["predictions"][0]["labels"])

    assert count(threshold=0.0001) >= count(threshold="macro") >= count(threshold=0.9999)
    assert count(threshold=0.0001, top=1) == count() == 1


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({"texts": []}, "body.texts"),
        ({"texts": ["a"] * 65}, "body.texts: too_long"),
        ({"texts": [7]}, "body.texts.0"),
        ({"texts": ["a"], "threshold": 2}, "body.threshold"),
        ({"texts": ["a"], "threshold": "median"}, "body.threshold"),
        ({"texts": ["a"], "top": 0}, "body.top"),
        ({"texts": ["a"], SECRET: 1}, "body.…"),
        ({}, "body.texts"),
        ([SECRET], "body"),
    ],
)
def test_what_cannot_be_answered_is_422_and_says_where(client: httpx.Client, question: Any, told: str) -> None:
    answer = client.post("/predict", json=question)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "secret" not in answer.text


def test_a_broken_body(client: httpx.Client) -> None:
    for body in (b'{"texts": [', b"\xff\xfe\x00", b'{"texts": ["\\ud800"]}', b'{"texts": ["a"], "threshold": NaN}'):
        answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), body


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_long_is_413(client: httpx.Client, announced: bool) -> None:
    body = b'{"texts": ["' + b"a " * 2_500_000 + b'"]}'
    pieces = (body[start : start + 65536] for start in range(0, len(body), 65536))
    try:
        answer = client.post("/predict", content=body if announced else pieces)
    except httpx.TransportError:  # the connection may end while the client still sends
        assert not announced
    else:
        assert answer.status_code == 413
        assert "20,000 bytes" in answer.json()["detail"]
    assert client.get("/health").status_code == 200


def test_another_host_name_is_refused(client: httpx.Client) -> None:
    assert client.get("/health", headers={"host": "attacker.example"}).status_code == 400


def test_a_slow_model_is_503(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(predictor, "predict", lambda texts, **question: go_on.wait(20))
        limits = Limits(waiting=1, seconds=0.3, drain_seconds=0)
        with (
            Running(create_app(predictor, limits), limits) as server,
            httpx.Client(base_url=server.url) as client,
            ThreadPoolExecutor(3) as clients,
        ):
            asked = [clients.submit(client.post, "/predict", json={"texts": ["a"]}) for _ in range(3)]
            answers = [one.result(20) for one in asked]
            assert client.get("/health").status_code == 200
            go_on.set()
    assert [answer.status_code for answer in answers] == [503, 503, 503]
    assert {answer.headers["retry-after"] for answer in answers} == {"1"}


def test_no_text_is_logged(
    client: httpx.Client, predictor: Predictor, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(texts: list[str], **question: Any) -> Any:
        raise ValueError(texts[0])

    with caplog.at_level(logging.DEBUG):
        assert client.post("/predict", json={"texts": [SECRET]}).status_code == 200
        with monkeypatch.context() as patch:
            patch.setattr(predictor, "predict", broken)
            answer = client.post("/predict", json={"texts": [SECRET]})
    assert (answer.status_code, answer.json()) == (500, {"detail": "the model could not do it"})
    assert "a request failed: ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_explanations_add_up(client: httpx.Client, predictor: Predictor) -> None:
    text = "filler1 sign3x filler2"
    found = client.post("/explain", json={"text": text, "labels": ["L3", "L5"]}).json()
    assert [one["label"] for one in found["labels"]] == ["L3", "L5"]
    for one in found["labels"]:
        parts = [word["contribution"] for word in one["words"]] + [one["bias"], one["planted"], one["elsewhere"]]
        assert sum(parts) == pytest.approx(one["logit"], abs=1e-4)
    best = found["labels"][0]["words"][0]
    assert text[best["start"] : best["end"]] == best["text"] == "sign3x"
    assert len(client.post("/explain", json={"text": text, "top": 7}).json()["labels"]) == 7


def test_an_unknown_label_is_422(client: httpx.Client) -> None:
    answer = client.post("/explain", json={"text": "filler1", "labels": ["L3", "L99"]})
    assert answer.status_code == 422
    assert answer.json() == {"detail": "body.labels.1: no label of the model"}


def test_the_page_shows_markup_as_text(client: httpx.Client) -> None:
    form = client.get("/")
    assert "<textarea" in form.text
    assert "default-src 'none'" in form.headers["content-security-policy"]
    page = client.post("/", data={"text": "sign3x <script>alert(1)</script>\r\nzweite Zeile: Größe"})
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "<script>alert" not in page.text
    assert "\\u003cscript>alert(1)" in page.text
    assert "\\nzweite Zeile: Größe" in page.text
    assert client.post("/", content=b"\xff\xfe=&&&").status_code == 200
    assert client.post("/", data={"text": "a " * 20_000}).status_code == 413


def test_the_openapi_page_needs_no_other_server(client: httpx.Client) -> None:
    page = client.get("/docs").text
    assert "https:" not in page
    assert client.get("/static-offline-docs/swagger-ui-bundle.js").status_code == 200
    assert {"/v1/predict", "/v1/explain", "/v1/health"} <= client.get("/openapi.json").json()["paths"].keys()


def test_the_command(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[connections.Server] = []
    monkeypatch.setattr(connections.Server, "run", lambda server: started.append(server))
    monkeypatch.delenv("PLANT_SERVE_TOKEN", raising=False)

    def run(*options: str) -> Result:
        return CliRunner().invoke(plant, ["serve", str(trained), "--device", "cpu", *options])

    outcome = run("--port", "8123", "--header-timeout", "3")
    assert outcome.exit_code == 0, outcome.output
    config = started[0].config
    assert (config.host, config.port, config.access_log, config.log_level) == ("127.0.0.1", 8123, False, "warning")
    assert started[0]._limits.header_seconds == 3
    assert "no password" not in outcome.stderr
    assert "no password" in run("--host", "0.0.0.0").stderr
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    outcome = run("--host", "0.0.0.0", "--token-file", str(tmp_path / "token"))
    assert "no password" not in outcome.stderr
    assert TOKEN not in outcome.output
    (tmp_path / "token").write_text("secret with spaces in it")
    outcome = run("--token-file", str(tmp_path / "token"))
    assert outcome.exit_code == 2
    assert "this is no token" in outcome.stderr
    assert "secret" not in outcome.stderr


def test_without_the_extra(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "plant_plugin.serving.connections")
    outcome = CliRunner().invoke(plant, ["serve", str(trained)])
    assert outcome.exit_code == 2
    assert "pip install 'plant-plugin[serve]'" in outcome.output


@pytest.mark.integration
@pytest.mark.parametrize("clients", [1, 8, 64])
def test_many_clients_at_once(url: str, predictor: Predictor, clients: int) -> None:
    """Everybody gets an own answer, and at most 64 requests wait. Prints what it took."""
    texts = [f"filler{number} sign{number % 12}x" for number in range(clients)]
    expected = [one.labels[0].label for one in predictor.predict(texts, top=1)]
    took: list[float] = []

    def ask(number: int) -> list[str]:
        found = []
        with httpx.Client(base_url=url, timeout=60) as client:
            for _ in range(10):
                start = time.perf_counter()
                answer = client.post("/predict", json={"texts": [texts[number]], "top": 1})
                took.append(time.perf_counter() - start)
                assert answer.status_code == 200, answer.text
                found.append(answer.json()["predictions"][0]["labels"][0]["label"])
        return found

    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, range(clients)))
    assert answers == [[label] * 10 for label in expected]
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    print(f"{clients} clients: p50 {1000 * p50:.1f} ms, p95 {1000 * p95:.1f} ms")


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_pages_in_a_browser(url: str, tmp_path: Path) -> None:
    """The script of the OpenAPI page knows the version of OpenAPI that FastAPI writes, and draws the endpoints."""
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        "--virtual-time-budget=9000",
    ]
    drawn = subprocess.run(
        ["chromium", *options, "--dump-dom", f"{url}/docs"], capture_output=True, text=True, timeout=100, check=True
    ).stdout
    assert 'data-path="/v1/explain"' in drawn
    assert "Unable to render" not in drawn


@pytest.mark.integration
@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_schemathesis(predictor: Predictor, token: str | None) -> None:
    """What the OpenAPI page promises holds for whatever is sent; of a server with a token, that it is asked for."""
    app = create_app(predictor, LIMITS, server_names("127.0.0.1"), token)
    with Running(app, LIMITS) as server:
        answers_as_promised(server.url, {} if token is None else {"Authorization": f"Bearer {token}"})


def answers_as_promised(url: str, headers: dict[str, str]) -> None:
    import schemathesis
    from hypothesis import HealthCheck, given, settings

    # which labels there are is the model's to say, not the schema's
    schemathesis.checks.load_all_checks()
    excluded = {"/v1/explain": [schemathesis.checks.CHECKS.get_by_names(["positive_data_acceptance"])[0]]}
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json", headers=dict(headers))  # adds its own
    assert bool(headers) == ("securitySchemes" in schema.raw_schema["components"])
    tried = set()
    for operation in (found.ok() for found in schema.get_all_operations()):
        tried.add(operation.path)

        @given(case=operation.as_strategy())
        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        def holds(case: Any) -> None:
            case.call_and_validate(headers=headers, excluded_checks=excluded.get(case.path, []))
            if headers and case.path != "/v1/ready":
                assert case.call(headers={"authorization": "Bearer another"}).status_code == 401

        holds()
    assert {"/v1/predict", "/v1/explain", "/v1/health"} <= tried
