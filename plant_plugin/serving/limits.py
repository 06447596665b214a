"""How much the server takes, and for how long; bodies that are too long are refused before anybody reads them."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True)
class Limits:
    """What a request may ask of the server.

    Attributes:
        body_bytes: Longest body of a request; longer ones are refused (413).
        waiting: Requests that wait for the model; a further one is refused (503).
        seconds: Longest that a request waits for its answer (503 after it).
    """

    body_bytes: int = 2**20
    waiting: int = 128
    seconds: float = 30.0


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
            await refuse(send, self.limit)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.limit:
                await refuse(send, self.limit)
                return
        whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def hand_on() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, hand_on, send)


async def refuse(send: Send, limit: int) -> None:
    """413, and the connection ends: the rest of the body is not read."""
    text = f'{{"detail":"the body is longer than the {limit:,} bytes that this server takes"}}'.encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(text)).encode()),
               (b"connection", b"close")]  # fmt: skip
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": text})
