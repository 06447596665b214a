"""Connections with deadlines, and an end of the server that no client can put off.

uvicorn has a deadline between two requests only. Its ``limit_concurrency`` counts connections that have not asked for
anything yet, so that a few hundred stalled ones shut out everybody else; here the stalled ones go first.
"""

from __future__ import annotations

import asyncio
import functools
import socket
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from plant_plugin.errors import ConfigError
from plant_plugin.serving.limits import Limits
from plant_plugin.serving.metrics import Metrics
from plant_plugin.serving.questions import ENDING

HEADERS, BODY, ANSWER = "headers", "body", "answer"  # what a client keeps us waiting for
OWN_FILES = 100  # that the process has open beside connections, at most


class TimedConnection(H11Protocol):
    """uvicorn's connection, ended where the client sends too slowly or does not take its answer."""

    def __init__(self, limits: Limits, metrics: Metrics, **options: Any) -> None:
        super().__init__(**options)
        self._limits, self._metrics = limits, metrics
        self._awaited: str | None = None
        self._since = 0.0
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; where there are too many connections, end the most idle one."""
        super().connection_made(transport)
        self._now_waits()
        timed = [one for one in self.connections if isinstance(one, TimedConnection)]
        self._metrics.connections.set(len(timed))
        if len(timed) > self._limits.connections:
            idle = [one for one in timed if one._awaited in (HEADERS, BODY) and not one.transport.is_closing()]
            min(idle, key=lambda one: one._since, default=self)._drop("limit")

    def connection_lost(self, exc: Exception | None) -> None:
        """No deadline any more."""
        self._set_deadline(None)
        super().connection_lost(exc)
        self._metrics.connections.set(len(self.connections))

    def data_received(self, data: bytes) -> None:
        """Take what the client sent; only a whole head, and then a whole body, moves the deadline."""
        super().data_received(data)
        self._now_waits()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._now_waits()

    def pause_writing(self) -> None:
        """The client does not take its answer."""
        super().pause_writing()
        self._now_waits()

    def resume_writing(self) -> None:
        """The client took a part of it."""
        super().resume_writing()
        self._now_waits()

    def shutdown(self) -> None:
        """As the server ends: whoever keeps us waiting has a little time left."""
        super().shutdown()
        if self._awaited is not None:
            self._set_deadline(self._limits.last_seconds / 2)

    def _now_waits(self) -> None:
        """Set the deadline anew where something else is awaited than before."""
        awaited = None
        if self.flow.write_paused or self.transport.is_closing():
            awaited = ANSWER
        elif self.conn.their_state is h11.IDLE:
            awaited = HEADERS
        elif self.conn.their_state is h11.SEND_BODY:
            awaited = BODY
        if awaited != self._awaited:
            self._awaited, self._since = awaited, self.loop.time()
            seconds = self._limits.header_seconds if awaited == HEADERS else self._limits.body_seconds
            self._set_deadline(None if awaited is None else seconds)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        if self._awaited != ANSWER and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = h11.Response(status_code=408, headers=[("connection", "close"), ("content-length", "0")])
            self.transport.write(self.conn.send(head) or b"")
            self.conn.send(h11.EndOfMessage())
        self._drop(self._awaited or ANSWER)

    def _drop(self, reason: str) -> None:
        """End the connection at once; whoever answers it is told so."""
        self._metrics.dropped.labels(reason).inc()
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn's server for an application of :func:`.app.create_app`, with deadlines.

    When it ends, ``/ready`` says so for a while, then what is under way gets a few seconds; nobody has longer.
    """

    def __init__(
        self, app: FastAPI, limits: Limits, tell: Callable[[str], None] = lambda address: None, **options: Any
    ) -> None:
        """``tell`` hears the address when the server listens; ``options`` are uvicorn's."""
        connection = functools.partial(TimedConnection, limits, app.state.metrics)
        options = {"log_level": "warning", "access_log": False, "server_header": False, "ws": "none"} | options
        most = int(limits.last_seconds) + 1
        super().__init__(uvicorn.Config(app, http=connection, timeout_graceful_shutdown=most, **options))  # type: ignore[arg-type]
        self._app, self._limits, self._tell = app, limits, tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and tell where: the port may be any that was free."""
        await super().startup(sockets)
        host, port = self.config.host, self.servers[0].sockets[0].getsockname()[1]
        self._tell(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End in ``drain_seconds + last_seconds``, and a second more at most."""
        self._app.state.status = ENDING
        await asyncio.sleep(self._limits.drain_seconds)
        asyncio.get_running_loop().call_later(self._limits.last_seconds, self._app.state.queue.refuse)
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
    needed = connections + OWN_FILES
    if allowed == resource.RLIM_INFINITY or needed <= allowed:
        return
    if needed > most != resource.RLIM_INFINITY:
        fix = f"at most {most - OWN_FILES} (`ulimit -Hn` less {OWN_FILES})"
        raise ConfigError(f"{connections} need {needed} open files", where="--max-connections", fix=fix)
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))
