"""A server of ours on a port of loopback, in a thread."""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

from fastapi import FastAPI

from plant_plugin.serving.access import Limits
from plant_plugin.serving.connections import Server

TOKEN = "q7Zt-made-up-token-9xKe"


class Running:
    """An application, served as long as the block lasts."""

    def __init__(self, app: FastAPI, limits: Limits, **options: Any) -> None:
        # asyncio sends small answers at once (TCP_NODELAY) where the socket says that it is TCP
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = Server(app, limits, **{"log_level": "debug", "access_log": True, **options})
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def __enter__(self) -> Running:
        self.thread.start()
        for _ in range(1000):
            if self.server.started:
                return self
            time.sleep(0.01)
        raise AssertionError("the server does not start")

    def __exit__(self, *error: object) -> None:
        self.server.should_exit = True
        self.thread.join(20)

    def open(self, sent: bytes = b"") -> socket.socket:
        """A connection, and what a client sends first."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        connection.sendall(sent)
        return connection
