"""Numbers for Prometheus at ``/metrics``: requests, seconds, texts, connections; never what was asked."""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # seconds
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
ELSEWHERE = "other"  # paths that are no endpoint: their names are the client's


class Metrics:
    """The numbers of one application."""

    def __init__(self, waiting: Callable[[], float]) -> None:
        """``waiting`` says how many requests wait for the model."""
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("plant_requests", "Requests answered.", ["endpoint", "status"], registry=registry)
        self.seconds = Histogram(
            "plant_request_seconds", "From the head of a request to its answer.", ["endpoint"], registry=registry,
            buckets=BUCKETS,
        )  # fmt: skip
        self.texts = Counter("plant_texts", "Texts that the model was asked about.", ["endpoint"], registry=registry)
        self.ready = Gauge("plant_ready", "Whether the model answers, as /ready.", registry=registry)
        self.connections = Gauge("plant_connections", "Open connections.", registry=registry)
        self.dropped = Counter(
            "plant_connections_dropped", "Connections ended, by what the client kept us waiting for, or the limit.",
            ["reason"], registry=registry,
        )  # fmt: skip
        Gauge("plant_requests_waiting", "Requests that wait for the model.", registry=registry).set_function(waiting)
        ProcessCollector(registry=registry)


class Answers:
    """ASGI middleware, the outermost: counts every answer, and forbids to store it or to guess what it is."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        status, start = 0, time.perf_counter()

        async def send_counted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, receive, send_counted)
        finally:
            endpoint = getattr(scope.get("route"), "path", ELSEWHERE)
            if status:  # none: nothing was answered
                self.metrics.requests.labels(endpoint, status).inc()
                self.metrics.seconds.labels(endpoint).observe(time.perf_counter() - start)
