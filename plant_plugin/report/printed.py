"""The one way to the terminal: control characters are shown and not obeyed, whatever text they came in.

A label, an id, a file's name or an error may hold what clears the screen, renames the window or turns a line around.
What a process that a command has started prints comes this way too.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO

from plant_plugin.networks.hub import stay_off

CONTROL = re.compile("(?!\r\n)[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
DRAWN = re.compile(rf"(\x1b\[[\d;?]*[A-Za-z]|\r)|{CONTROL.pattern}")  # colours and places
DRAW = ("rich", "tqdm")  # packages that write these, and no text of others beside them


class Printed:
    """A stream of text to a terminal, or to what may be shown on one later; all else as of the stream itself."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write text; in JSON it stays the same JSON."""
        package = sys._getframe(1).f_globals.get("__name__", "").partition(".")[0]
        self.stream.write(_drawn(text) if package in DRAW else printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        self.write("".join(lines))


def printable(text: str) -> str:
    """Return text as a terminal may get it: an escape as u001b with a backslash, and so on."""
    return CONTROL.sub(_escaped, text)


def _drawn(text: str) -> str:
    return DRAWN.sub(lambda found: found[1] or _escaped(found), text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


@contextlib.contextmanager
def printing() -> Iterator[None]:
    """Let all that is printed in the block pass :class:`Printed`, and nothing be fetched that nobody has named."""
    stay_off()
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and Printed(plain(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def plain(stream: IO[str]) -> IO[str]:
    """Return the stream itself, for what has passed :func:`printable` or is none of a terminal's."""
    return stream.stream if isinstance(stream, Printed) else stream
