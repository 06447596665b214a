"""The access log: a line of each request, and nothing of what was asked."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from quick_server import ready
from running_server import TOKEN, Running

from plant_plugin.errors import ConfigError
from plant_plugin.serving.access_log import logger, opened

SECRET = "canaryword"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_of_each_request_without_content(serve: Callable[..., Running], tmp_path: Path) -> None:
    path = tmp_path / "access.jsonl"
    server = serve(token=TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}", "user-agent": SECRET, "x-request-id": SECRET}
    with opened(path), httpx.Client(base_url=server.url, headers=headers) as client:
        ready(server)
        client.post(f"/v1/predict?id={SECRET}", json={"texts": [SECRET, "b"]})
        client.post("/predict", json={"texts": [SECRET], SECRET: 1})
        client.get(f"/{SECRET}/{SECRET}")
        client.request(SECRET.upper(), "/v1/predict")
        httpx.post(f"{server.url}/v1/predict", json={"texts": [SECRET]})
        while len(found := [line for line in lines(path) if line["endpoint"] != "/ready"]) < 5:
            time.sleep(0.01)  # a line is written after the answer is sent
    assert [(line["method"], line["endpoint"], line["status"], line["texts"]) for line in found] == [
        ("POST", "/v1/predict", 200, 2),
        ("POST", "/predict", 422, None),
        ("GET", "other", 404, None),
        ("other", "/v1/predict", 405, None),
        ("POST", "other", 401, None),
    ]
    for line in found:
        assert list(line) == ["time", "method", "endpoint", "status", "seconds", "bytes", "texts"]
        assert datetime.fromisoformat(line["time"]).utcoffset() is not None
        assert line["seconds"] >= 0
    assert found[0]["bytes"] > 20
    for word in (SECRET, SECRET.upper(), TOKEN, "127.0.0.1"):
        assert word not in path.read_text(encoding="utf-8")


def test_nothing_is_written_without_a_file(serve: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    with opened(None):
        ready(serve())
    assert logger.name not in {record.name for record in caplog.records}


def test_it_is_added_to_and_opened_again_where_it_was_put_away(tmp_path: Path) -> None:
    path = tmp_path / "access.jsonl"
    for number in (1, 2):
        with opened(path):
            logger.info(number)
    assert lines(path) == [1, 2]
    with opened(path):
        logger.info(3)
        path.rename(tmp_path / "access.jsonl.1")
        logger.info(4)
    assert (lines(tmp_path / "access.jsonl.1"), lines(path)) == ([1, 2, 3], [4])


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with opened(Path("-")):
        logger.info("{}")
    assert capsys.readouterr().out == "{}\n"


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--access-log .*: it cannot be opened"), opened(tmp_path / "no" / "a.jsonl"):
        pass


def test_a_full_disk_does_not_end_the_server(caplog: pytest.LogCaptureFixture) -> None:
    with opened(Path("/dev/full")):
        logger.info("{}")
    assert "the access log cannot be written" in caplog.messages
