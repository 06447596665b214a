"""Whether a model may be fetched from a hub: only one that a user names, and not one that a folder names by itself."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

_stays: ContextVar[bool] = ContextVar("_stays", default=False)


@contextlib.contextmanager
def nothing_fetched(nothing: bool = True) -> Iterator[None]:
    """Take models that have a name on a hub only from this machine inside the block, for names that no user gave."""
    before = _stays.set(nothing)
    try:
        yield
    finally:
        _stays.reset(before)


def stays_here() -> bool:
    """Tell whether nothing may be fetched now."""
    return _stays.get()
