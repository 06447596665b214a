"""Numbers for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from running_server import Running


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
