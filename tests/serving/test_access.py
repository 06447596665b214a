"""Tokens and names under which the server is called."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from quick_server import ready
from running_server import TOKEN, Running

from plant_plugin.errors import ConfigError
from plant_plugin.serving import access


@pytest.mark.parametrize("path", ["/predict", "/explain", "/", "/v1/predict", "/v1/explain"])
def test_without_the_token_nothing_is_answered(serve: Callable[..., Running], path: str) -> None:
    server = serve(token=TOKEN)
    for brought in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": f"Basic {TOKEN}"},
                    {"authorization": "Bearer"}, {"authorization": "Bearer \xe9".encode("latin-1")}):  # fmt: skip
        answer = httpx.post(server.url + path, json={"texts": ["a"]}, headers=brought)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), brought
    for path in ("/health", "/v1/health", "/metrics", "/docs", "/openapi.json", "/nothing"):
        assert httpx.get(server.url + path).status_code == 401


def test_with_the_token(serve: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        server = serve(token=TOKEN)
        ready(server)  # needs none
        assert httpx.get(f"{server.url}/v1/ready").json() == {"status": "ready"}
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
