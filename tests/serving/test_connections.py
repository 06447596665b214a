"""Deadlines, the limit of connections, tokens, names, metrics and the end, over real connections; no model."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from running_server import TOKEN, Running

from plant_plugin.errors import ConfigError
from plant_plugin.model.predictor import Prediction
from plant_plugin.serving import access, connections
from plant_plugin.serving.access import Limits
from plant_plugin.serving.app import create_app

QUICK = Limits(header_seconds=0.5, body_seconds=0.8, connections=6, drain_seconds=0, last_seconds=1)
HEAD = b"POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


class Model:
    """As much of a predictor as the server asks for; says which labels it was asked about by the length of a text."""

    def __init__(self) -> None:
        self.model = SimpleNamespace(content={"model_name": "made up"})
        self.labels, self.thresholds, self.column_of = ("A", "B"), {"0.5": 0.0}, {"A": 0, "B": 1}
        self.gate = threading.Event()
        self.gate.set()

    def predict(self, texts: list[str], **question: Any) -> list[Prediction]:
        assert self.gate.wait(30)
        return [Prediction([], len(text), False) for text in texts]


@pytest.fixture
def serve() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def start(limits: Limits = QUICK, model: Model | None = None, **options: Any) -> Running:
        running.append(Running(create_app(model or Model(), limits, **options), limits))  # type: ignore[arg-type]
        return running[-1].__enter__()

    yield start
    for one in running:
        one.__exit__()


def ended_after(connection: socket.socket, keep_sending: bytes = b"") -> tuple[float, bytes]:
    """Seconds until the server ends a connection, on which a client drips bytes, and what it sent before."""
    start, found = time.monotonic(), b""
    connection.settimeout(0.1)
    while time.monotonic() - start < 15:
        try:
            if keep_sending:
                connection.sendall(keep_sending)
            part = connection.recv(65536)
            if not part:
                break
            found += part
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - start, found


def ready(server: Running, **headers: str) -> None:
    for _ in range(500):
        if httpx.get(f"{server.url}/ready", headers=headers).status_code == 200:
            return
        time.sleep(0.01)
    raise AssertionError("never ready")


@pytest.mark.parametrize(
    ("sent", "dripped", "seconds"),
    [
        (b"", b"", QUICK.header_seconds),
        (b"POST /pre", b"", QUICK.header_seconds),
        (HEAD, b"x: y\r\n", QUICK.header_seconds),
        (HEAD + b"content-length: 1000\r\n\r\n", b"", QUICK.body_seconds),
        (HEAD + b"content-length: 1000\r\n\r\n", b"a", QUICK.body_seconds),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\na\r\n", QUICK.body_seconds),
    ],
    ids=["silent", "half a line", "dripped head", "no body", "dripped body", "dripped chunks"],
)
def test_a_client_that_does_not_send_is_ended(
    serve: Callable[..., Running], sent: bytes, dripped: bytes, seconds: float
) -> None:
    server = serve()
    with server.open(sent) as client:
        took, answer = ended_after(client, dripped)
    assert seconds - 0.1 <= took < seconds + 1
    assert answer.startswith(b"HTTP/1.1 408") or (dripped and not answer)  # its own bytes may cross the answer
    assert httpx.post(f"{server.url}/predict", json={"texts": ["ab"]}).json()["predictions"][0]["tokens"] == 2


def test_a_body_dripped_after_the_answer_ends_too(serve: Callable[..., Running]) -> None:
    server = serve(token=TOKEN)
    with server.open(HEAD + b"content-length: 100000\r\n\r\n") as client:
        took, answer = ended_after(client, b"a")
    assert answer.startswith(b"HTTP/1.1 401")
    assert took < QUICK.body_seconds + 1


def test_a_client_that_does_not_take_its_answer_is_ended(serve: Callable[..., Running]) -> None:
    server = serve()
    app = server.server.app
    app.get("/large")(lambda: "x" * 30_000_000)
    with server.open() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(b"GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n")
        for _ in range(60):
            time.sleep(0.1)
            if app.state.metrics.dropped.labels("answer")._value.get():
                break
    assert app.state.metrics.dropped.labels("answer")._value.get() == 1


def test_keeping_a_connection_and_slow_models_are_no_offence(serve: Callable[..., Running]) -> None:
    model = Model()
    server = serve(model=model)
    ready(server)
    with httpx.Client(base_url=server.url) as client:
        for wait in (0.0, 0.4):
            time.sleep(wait)
            assert client.post("/predict", json={"texts": ["a"]}).status_code == 200
        model.gate.clear()
        threading.Timer(1.5, model.gate.set).start()  # longer than either deadline
        assert client.post("/predict", json={"texts": ["a"]}).status_code == 200


def test_of_too_many_connections_the_most_idle_goes(serve: Callable[..., Running]) -> None:
    server = serve(Limits(connections=6, header_seconds=30, drain_seconds=0))
    stalled = [server.open(b"GET ") for _ in range(6)]
    for text in ("a", "bbb", "cc"):
        answer = httpx.post(f"{server.url}/predict", json={"texts": [text]})
        assert answer.json()["predictions"][0]["tokens"] == len(text)
    numbers = httpx.get(f"{server.url}/metrics").text
    assert 'plant_connections_dropped_total{reason="limit"}' in numbers
    for one in stalled:
        one.close()


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


def test_the_end_waits_neither_for_stalled_clients_nor_for_a_stuck_model(
    serve: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    model = Model()
    server = serve(Limits(drain_seconds=0, last_seconds=1), model)
    ready(server)
    model.gate.clear()
    stalled = [server.open(sent) for sent in (b"", b"GET ", HEAD + b"content-length: 9\r\n\r\n")]
    answers: list[int] = []

    def ask() -> None:
        answers.append(httpx.post(f"{server.url}/predict", json={"texts": ["a"]}, timeout=20).status_code)

    waiting = threading.Thread(target=ask)
    waiting.start()
    time.sleep(0.3)
    start = time.monotonic()
    server.server.should_exit = True
    server.thread.join(10)
    assert time.monotonic() - start < 4
    waiting.join(10)
    model.gate.set()
    assert answers == [503]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    for one in stalled:
        one.close()


@pytest.mark.parametrize("path", ["/predict", "/explain", "/"])
def test_without_the_token_nothing_is_answered(serve: Callable[..., Running], path: str) -> None:
    server = serve(token=TOKEN)
    for brought in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": f"Basic {TOKEN}"},
                    {"authorization": "Bearer"}, {"authorization": "Bearer \xe9".encode("latin-1")}):  # fmt: skip
        answer = httpx.post(server.url + path, json={"texts": ["a"]}, headers=brought)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), brought
    for path in ("/health", "/metrics", "/docs", "/openapi.json", "/nothing"):
        assert httpx.get(server.url + path).status_code == 401


def test_with_the_token(serve: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server = serve(token=TOKEN)
        ready(server)  # needs none
        for scheme in ("Bearer", "bearer"):
            answer = httpx.post(
                f"{server.url}/predict", json={"texts": ["a"]}, headers={"authorization": f"{scheme} {TOKEN}"}
            )
            assert answer.status_code == 200
    assert TOKEN not in "".join(record.getMessage() for record in caplog.records if "uvicorn" in record.name)


def test_a_token_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(access.TOKEN_VARIABLE, raising=False)
    assert access.read_token(None) is None
    monkeypatch.setenv(access.TOKEN_VARIABLE, TOKEN)
    assert access.read_token(None) == TOKEN
    monkeypatch.setenv(access.TOKEN_VARIABLE, "short")
    with pytest.raises(ConfigError, match=r"^\$PLANT_SERVE_TOKEN: this is no token"):
        access.read_token(None)


def test_a_page_of_another_site_reaches_no_server(serve: Callable[..., Running]) -> None:
    for host in ("127.0.0.1", "0.0.0.0", "192.0.2.7"):
        server = serve(hosts=access.server_names(host, ["proxy.example"]))
        ready(server, host="proxy.example")
        for name, status in (("attacker.example", 400), ("", 400), ("proxy.example:8000", 200)):
            assert httpx.get(f"{server.url}/ready", headers={"host": name}).status_code == status, (host, name)
    assert "192.0.2.7" in access.server_names("192.0.2.7")
    assert {"127.0.0.1", "localhost", "[::1]", socket.gethostname()} <= set(access.server_names("0.0.0.0"))
    assert "localhost" not in access.server_names("192.0.2.7")


def test_metrics_count_and_never_name_what_was_asked(serve: Callable[..., Running]) -> None:
    server = serve()
    httpx.post(f"{server.url}/predict", json={"texts": ["canarytext", "b"]})
    httpx.get(f"{server.url}/canarypath")
    httpx.post(f"{server.url}/predict", json={"texts": 7})
    answer = httpx.get(f"{server.url}/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    for line in (
        'plant_requests_total{endpoint="/predict",status="200"} 1.0',
        'plant_requests_total{endpoint="/predict",status="422"} 1.0',
        'plant_requests_total{endpoint="other",status="404"} 1.0',
        'plant_request_seconds_count{endpoint="/predict"} 2.0',
        'plant_texts_total{endpoint="/predict"} 2.0',
        "plant_requests_waiting 0.0",
    ):
        assert line in answer.text, line
    assert "canary" not in answer.text


@pytest.mark.parametrize(("host", "written"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_address_is_told_that_a_browser_can_open(host: str, written: str) -> None:
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"this machine has no {host}")
    addresses: list[str] = []
    server = connections.Server(create_app(Model(), QUICK), QUICK, addresses.append, host=host, port=0)  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    for _ in range(1000):
        if addresses:
            break
        time.sleep(0.01)
    assert addresses[0].startswith(f"http://{written}:")
    assert httpx.get(f"{addresses[0]}/health").status_code == 200
    server.should_exit = True
    thread.join(10)


def test_more_connections_than_files_that_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (300, 1100))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: allowed.append(limits))
    connections.allow_open_files(150)
    assert allowed == []
    connections.allow_open_files(1000)
    assert allowed == [(1100, 1100)]
    with pytest.raises(ConfigError, match="at most 1000"):
        connections.allow_open_files(1001)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (300, resource.RLIM_INFINITY))
    connections.allow_open_files(1000)
    assert allowed[1:] == [(1100, resource.RLIM_INFINITY)]
