"""Who may ask: under which names the server is called, and with which token."""

from __future__ import annotations

import hmac
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path

import psutil
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from plant_plugin.errors import ConfigError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERY_ADDRESS = ("0.0.0.0", "::", "")
IP = (socket.AF_INET, socket.AF_INET6)
TOKEN_VARIABLE = "PLANT_SERVE_TOKEN"
TOKEN = re.compile(r"[!-~]{16,}")  # what a header can carry; shorter ones can be guessed
OPEN = ("/ready",)  # paths that need no token: they tell nothing


def read_token(file: Path | None) -> str | None:
    """The token of a file, else of the environment; None where neither has one. No error shows it.

    Raises:
        ConfigError: The file cannot be read, or what is there is no token.
    """
    fix = "write 16 or more visible characters without spaces, e.g. `openssl rand -hex 32`"
    where, found = f"${TOKEN_VARIABLE}", os.environ.get(TOKEN_VARIABLE)
    if file is not None:
        where = str(file)
        try:
            found = file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"no token can be read ({type(error).__name__})", where=where, fix=fix) from None
    if found is not None and TOKEN.fullmatch(found) is None:
        raise ConfigError("this is no token", where=where, fix=fix)
    return found


def own_names(host: str, more: Iterable[str] = ()) -> list[str]:
    """Names under which a server that listens to ``host`` is called; for all addresses those of this machine.

    A page of another site can make a browser send requests to an address in any network it reaches, by a name of its
    own that it points there (DNS rebinding); but it cannot change the name that the request carries.
    """
    names = {*LOOPBACK, *more}
    if host in EVERY_ADDRESS:
        names |= {socket.gethostname(), socket.getfqdn()}
        addresses = (one for own in psutil.net_if_addrs().values() for one in own if one.family in IP)
        names |= {one.address.partition("%")[0] for one in addresses}
    elif host not in LOOPBACK:
        names = {host, *more}
    return sorted({f"[{name}]" if ":" in name else name for name in names if name})


class BearerToken:
    """ASGI middleware: answers 401 where a request does not bring the token.

    Paths that begin with one of ``elsewhere`` are left to those who ask for a sign-in of their own.
    """

    def __init__(self, app: ASGIApp, token: str, elsewhere: tuple[str, ...] = ()) -> None:
        self.app, self._expected = app, token.encode()
        self._open = {*OPEN, *elsewhere}
        self._below = tuple(f"{path}/" for path in elsewhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path not in self._open and not path.startswith(self._below):
            scheme, _, brought = Headers(scope=scope).get("authorization", "").partition(" ")
            same = hmac.compare_digest(brought.strip().encode("latin-1"), self._expected)  # in constant time
            if scheme.lower() != "bearer" or not same:
                headers = {"www-authenticate": "Bearer", "connection": "close"}
                await JSONResponse({"detail": "this server asks for a bearer token"}, 401, headers=headers)(
                    scope, receive, send
                )
                return
        await self.app(scope, receive, send)
