"""Connections with deadlines, and an end of the server that no client can put off.

uvicorn has a deadline between two requests only. Its ``limit_concurrency`` counts connections that have not asked for
anything yet, so that a few hundred stalled ones shut out everybody else; here the stalled ones go first.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from plant_plugin.errors import ConfigError
from plant_plugin.serving.access import Limits
from plant_plugin.serving.metrics import Metrics
from plant_plugin.serving.questions import ENDING

HEADERS, BODY, ANSWER = "headers", "body", "answer"  # what a client keeps us waiting for
OTHER_FILES = 100  # that the process has open beside connections, at most
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimedConnection(asyncio.Protocol):
    """A connection of uvicorn, ended where the client sends too slowly or does not take its answer.

    :class:`TimedRequests` says when a head and a body have come whole.
    """

    def __init__(
        self,
        connection: Callable[..., asyncio.Protocol],
        limits: Limits,
        metrics: Metrics,
        connections: set[TimedConnection],
        **options: object,
    ) -> None:
        """Wrap what ``connection`` makes of uvicorn's ``options``; ``connections`` are those that are open."""
        self._connection, self._limits, self._metrics = connection(**options), limits, metrics
        self._connections = connections
        self._transport: asyncio.Transport
        self._awaited: str | None = None
        self._since = 0.0
        self._paused = False  # the client does not take its answer
        self._deadline: asyncio.TimerHandle | None = None
        self.expected: str | None = HEADERS  # of the request
        self.answering = False

    @override
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._connections.add(self)
        self._connection.connection_made(transport)
        self._update()
        self._metrics.connections.set(len(self._connections))
        if len(self._connections) > self._limits.connections:  # the most idle one goes
            idle = [each for each in self._connections if each._awaited in (HEADERS, BODY)]
            min(idle, key=lambda each: each._since, default=self)._drop("limit")

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        self._connections.discard(self)
        self._connection.connection_lost(exc)
        self._metrics.connections.set(len(self._connections))

    @override
    def data_received(self, data: bytes) -> None:
        CONNECTION.set(self)  # the task of a request that begins now sees it
        self._connection.data_received(data)
        self._update()

    @override
    def eof_received(self) -> bool | None:
        return self._connection.eof_received()

    @override
    def pause_writing(self) -> None:
        self._connection.pause_writing()
        self._paused = True
        self._update()

    @override
    def resume_writing(self) -> None:
        self._connection.resume_writing()
        self._paused = False
        self._update()

    def hurry(self) -> None:
        """Leave a client that keeps us waiting a little time, as the server ends."""
        if self._awaited is not None:
            self._set_deadline(self._limits.last_seconds / 2)

    def expect(self, part: str | None) -> None:
        """Wait for a part of the request; None: it has come whole."""
        self.expected = part
        self._update()

    def _update(self) -> None:
        """Set the deadline anew where something else is awaited than before."""
        awaited = ANSWER if self._paused or self._transport.is_closing() else self.expected
        if awaited != self._awaited:
            self._awaited, self._since = awaited, asyncio.get_running_loop().time()
            seconds = self._limits.header_seconds if awaited == HEADERS else self._limits.body_seconds
            self._set_deadline(None if awaited is None else seconds)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        loop = asyncio.get_running_loop()
        self._deadline = None if seconds is None else loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self._awaited != ANSWER and not self.answering:
            self._transport.write(TOO_SLOW)
        self._drop(self._awaited or ANSWER)

    def _drop(self, reason: str) -> None:
        """End the connection at once."""
        self._metrics.dropped.labels(reason).inc()
        self._transport.abort()


CONNECTION: ContextVar[TimedConnection] = ContextVar("CONNECTION")


class TimedRequests:
    """ASGI middleware, the outermost: a :class:`TimedConnection` learns from it how far its request and answer are.

    A request that is answered before its body has come whole ends its connection: nobody reads the rest.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection, headers = CONNECTION.get(), Headers(scope=scope)
        empty = "transfer-encoding" not in headers and headers.get("content-length", "0") == "0"
        connection.expect(None if empty else BODY)

        async def receive_timed() -> Message:
            message = await receive()
            if not message.get("more_body", False):
                connection.expect(None)
            return message

        async def send_timed(message: Message) -> None:
            connection.answering = True
            if message["type"] == "http.response.start" and connection.expected == BODY:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                connection.answering = False
                connection.expect(HEADERS)

        await self._app(scope, receive_timed, send_timed)


class Server(uvicorn.Server):
    """uvicorn's server for an application of :func:`.app.create_app`, with deadlines.

    When it ends, ``/ready`` says so for a while, then what is under way gets a few seconds; nobody has longer.
    """

    def __init__(
        self, app: FastAPI, limits: Limits, announce: Callable[[str], None] = lambda address: None, **options: Any
    ) -> None:
        """``announce`` hears the address when the server listens; ``options`` are uvicorn's."""
        defaults: dict[str, Any] = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"}
        defaults["timeout_graceful_shutdown"] = int(limits.last_seconds) + 1
        config = uvicorn.Config(TimedRequests(app), http="h11", **(defaults | options))
        config.load()  # which chooses the class of connections
        self._connections: set[TimedConnection] = set()
        config.http_protocol_class = functools.partial(  # type: ignore[assignment]
            TimedConnection, config.http_protocol_class, limits, app.state.metrics, self._connections
        )
        super().__init__(config)
        self.app, self._limits, self._announce = app, limits, announce

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # The port may be any that was free.
        host, port = self.config.host, self.servers[0].sockets[0].getsockname()[1]
        self._announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # This takes ``drain_seconds + last_seconds``, and a second more at most.
        self.app.state.status = ENDING
        await asyncio.sleep(self._limits.drain_seconds)
        asyncio.get_running_loop().call_later(self._limits.last_seconds, self.app.state.queue.refuse)
        for connection in self._connections:
            connection.hurry()
        await super().shutdown(sockets)


def allow_open_files(connections: int) -> None:
    """Let the process have so many connections open.

    Raises:
        ConfigError: The system allows fewer.
    """
    try:
        import resource
    except ImportError:  # Windows: no such limit
        return
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OTHER_FILES
    if allowed == resource.RLIM_INFINITY or needed <= allowed:
        return
    if needed > most != resource.RLIM_INFINITY:
        fix = f"at most {most - OTHER_FILES} (`ulimit -Hn` less {OTHER_FILES})"
        raise ConfigError(f"{connections} need {needed} open files", where="--max-connections", fix=fix)
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
