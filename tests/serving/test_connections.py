"""Deadlines, the limit of connections and the end, over real connections; no model."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from quick_server import HEAD, QUICK, Model, ready
from running_server import TOKEN, Running

from plant_plugin.errors import ConfigError
from plant_plugin.serving import connections
from plant_plugin.serving.access import Limits
from plant_plugin.serving.app import create_app


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
