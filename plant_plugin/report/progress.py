"""A line on the screen while a long step without a progress bar goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST_SECONDS = 10.0  # after which it is said that a step goes on; then after twice as long, and so on


@contextmanager
def said_to_go_on(step: str, say: Callable[[str], None]) -> Iterator[None]:
    """Say after ten seconds of the block that the step goes on, and again each time that it has taken twice as long."""
    stop, start = threading.Event(), time.perf_counter()

    def watch() -> None:
        due = FIRST_SECONDS
        while not stop.wait(start + due - time.perf_counter()):
            say(f"{step}: {due:.0f} s so far")
            due *= 2

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
