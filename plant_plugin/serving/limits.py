"""How much the server takes, and for how long; bodies that are too long are refused before anybody reads them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True)
class Limits:
    """What clients may ask of the server."""

    body_bytes: int = 2**20  # longest body of a request; longer ones are refused (413)
    waiting: int = 128  # requests that wait for the model; a further one is refused (503)
    seconds: float = 30.0  # longest that a request waits for its answer (503 after it)
    connections: int = 900  # open at once; for a further one goes the one that has kept us waiting longest
    header_seconds: float = 10.0  # until a request's headers are here (408 after it)
    body_seconds: float = 30.0  # from then until its body is (408), and until the client has taken an answer
    drain_seconds: float = 1.0  # after the signal to end, in which /ready says so and all is answered as before
    last_seconds: float = 4.0  # after these, for what is under way


class BodyLimit:
    """ASGI middleware: reads a body up to so many bytes and hands it on whole; more is answered with 413."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; a body that is too long is not read to its end."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self.limit:
            await _too_long(self.limit)(scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limit:
                await _too_long(self.limit)(scope, receive, send)
                return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def hand_on() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, hand_on, send)


def _too_long(limit: int) -> JSONResponse:
    """413, and the connection ends: the rest of the body is not read."""
    detail = f"the body is longer than the {limit:,} bytes that this server takes"
    return JSONResponse({"detail": detail}, 413, headers={"connection": "close"})
