"""Requests as JSON lines: when, which endpoint, how it ended; never a text, an id, an address or a name of a client.

They are written where the logger ``plant_plugin.access`` has the level INFO, as :func:`opened` gives it.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TextIO

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from plant_plugin.errors import ConfigError
from plant_plugin.serving.metrics import ELSEWHERE

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")  # another is a word of the client's
logger = logging.getLogger("plant_plugin.access")
errors = logging.getLogger(__name__)


class Goes(logging.Handler):
    """A handler whose disk may be full, or whose reader gone: the server goes on."""

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        errors.error("the access log cannot be written")


class File(Goes, WatchedFileHandler):
    """A file that is opened again where somebody has put it away (``logrotate``)."""


class Output(Goes, logging.StreamHandler[TextIO]):
    """Standard output."""


@contextmanager
def opened(path: Path | None) -> Iterator[None]:
    """Append to a file as long as the block lasts; ``-`` is standard output, None nothing.

    Raises:
        ConfigError: The file cannot be opened.
    """
    if path is None:
        yield
        return
    try:
        handler = Output(sys.stdout) if str(path) == "-" else File(path, encoding="utf-8")
    except OSError as error:
        what, fix = f"it cannot be opened ({error.strerror})", "name a file in a folder that is there, or -"
        raise ConfigError(what, where=f"--access-log {path}", fix=fix) from error
    before, logger.propagate = logger.level, False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        logger.propagate = True
        with suppress(OSError):  # what could not be written before
            handler.close()


class AccessLog:
    """ASGI middleware, the outermost: writes a line of each request that was answered or given up."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or not logger.isEnabledFor(logging.INFO):
            await self.app(scope, receive, send)
            return
        status, start = None, time.perf_counter()

        async def send_noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        finally:
            length = Headers(scope=scope).get("content-length", "")
            line = {
                "time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
                "method": scope["method"] if scope["method"] in METHODS else ELSEWHERE,
                "endpoint": getattr(scope.get("route"), "path", ELSEWHERE),
                "status": status,  # None: the client went away
                "seconds": round(time.perf_counter() - start, 4),
                "bytes": int(length) if length.isdecimal() else None,
                "texts": scope.get("state", {}).get("texts"),
            }
            logger.info(json.dumps(line))
