"""A limit on failed sign-ins of each address."""

from __future__ import annotations

import time

MOST, SECONDS = 10, 60.0  # failed tries of an address in so long
ADDRESSES = 10_000  # that are remembered


class Tries:
    """Failed tries, each with its time."""

    def __init__(self) -> None:
        self._failed: dict[str, list[float]] = {}

    def seconds(self, address: str) -> int:
        """Return after how many seconds an address may try again; 0: now."""
        recent = self._recent(address)
        return int(recent[-MOST] + SECONDS - time.monotonic()) + 1 if len(recent) >= MOST else 0

    def failed(self, address: str) -> None:
        """Remember a failed try."""
        recent = self._recent(address)
        self._failed.pop(address, None)
        if len(self._failed) >= ADDRESSES:
            del self._failed[next(iter(self._failed))]  # whose last try is the longest ago
        self._failed[address] = [*recent, time.monotonic()][-MOST:]

    def _recent(self, address: str) -> list[float]:
        after = time.monotonic() - SECONDS
        return [at for at in self._failed.get(address, ()) if at > after]
