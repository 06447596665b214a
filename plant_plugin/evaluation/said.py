"""Numbers as one would say them."""

from __future__ import annotations


def counted(number: int, one: str, more: str | None = None) -> str:
    """Return ``1 document`` or ``2,000 documents``; ``more`` is what several are called, else ``one`` with an s."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign and so many digits; one that is 0 then has a plus: no number is -0."""
    return f"{round(value, digits) + 0.0:+.{digits}f}"
