"""How much the server takes, and for how long."""

from __future__ import annotations

from dataclasses import dataclass


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
