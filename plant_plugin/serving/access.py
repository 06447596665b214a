"""Who may ask the server, under which of its names, with which token, and how much of it."""

from __future__ import annotations

import hmac
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil
from fastapi import HTTPException
from starlette.authentication import AuthenticationBackend, AuthenticationError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from plant_plugin.errors import ConfigError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERY_ADDRESS = ("0.0.0.0", "::", "")
IP = (socket.AF_INET, socket.AF_INET6)
TOKEN_VARIABLE = "PLANT_SERVE_TOKEN"
TOKEN = re.compile(r"[!-~]{16,}")  # what a header can carry; shorter ones can be guessed
OPEN = ("/ready", "/v1/ready")  # paths that need no token: they reveal nothing


@dataclass(frozen=True)
class Limits:
    """Limits of what clients may ask of the server."""

    body_bytes: int = 2**20  # longest body of a request; longer ones are refused (413)
    waiting: int = 128  # requests that wait for the model; a further one is refused (503)
    seconds: float = 30.0  # longest that a request waits for its answer (503 after it)
    connections: int = 900  # open at once; for a further one goes the one that has kept us waiting longest
    header_seconds: float = 10.0  # until a request's headers are here (408 after it)
    body_seconds: float = 30.0  # from then until its body is (408), and until the client has taken an answer
    drain_seconds: float = 1.0  # after the signal to end, in which /ready says so and all is answered as before
    last_seconds: float = 4.0  # after these, for what is under way


def read_token(file: Path | None) -> str | None:
    """Return the token of a file, else of the environment; None where neither has one. No error shows it.

    Raises:
        ConfigError: The file cannot be read, or what is there is no token.
    """
    fix = "write 16 or more visible characters without spaces, e.g. `openssl rand -hex 32`"
    where, token = f"${TOKEN_VARIABLE}", os.environ.get(TOKEN_VARIABLE)
    if file is not None:
        where = str(file)
        try:
            token = file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"no token can be read ({type(error).__name__})", where=where, fix=fix) from None
    if token is not None and TOKEN.fullmatch(token) is None:
        raise ConfigError("this is no token", where=where, fix=fix)
    return token


def server_names(host: str, more: Iterable[str] = ()) -> list[str]:
    """Return the names under which a server at ``host`` is called; for all addresses those of this machine.

    A page of another site can make a browser send requests to an address in any network it reaches, by a name of its
    own that it points there (DNS rebinding); but it cannot change the name that the request carries.
    """
    names = {*LOOPBACK, *more}
    if host in EVERY_ADDRESS:
        names |= {socket.gethostname(), socket.getfqdn()}
        addresses = (each for card in psutil.net_if_addrs().values() for each in card if each.family in IP)
        names |= {each.address.partition("%")[0] for each in addresses}
    elif host not in LOOPBACK:
        names = {host, *more}
    return sorted({f"[{name}]" if ":" in name else name for name in names if name})


class BearerToken(AuthenticationBackend):
    """Asks each request for the token.

    Paths that begin with one of ``elsewhere`` are left to those who ask for a sign-in of their own.
    """

    def __init__(self, token: str, elsewhere: tuple[str, ...] = ()) -> None:
        self._token = token.encode()
        self._open = {*OPEN, *elsewhere}
        self._below = tuple(f"{path}/" for path in elsewhere)

    @override
    async def authenticate(self, conn: HTTPConnection) -> None:
        path = conn.scope["path"]
        if path in self._open or path.startswith(self._below):
            return
        scheme, _, brought = conn.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(brought.strip().encode("latin-1"), self._token)  # in constant time
        if scheme.lower() != "bearer" or not same:
            raise AuthenticationError("this server asks for a bearer token")


class BodyLimit:
    """ASGI middleware: ends the reading of a body that is too long, with 413 as the application shows errors."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        announced = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        received = 0

        async def receive_limited() -> Message:
            nonlocal received
            length = int(announced) if announced.isdecimal() else 0
            message: Message = {} if length > self.limit else await receive()
            received += len(message.get("body", b""))
            if max(length, received) > self.limit:
                raise HTTPException(413, f"the body is longer than the {self.limit:,} bytes that this server takes")
            return message

        await self.app(scope, receive_limited, send)
