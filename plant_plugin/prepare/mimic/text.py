"""How a note becomes the text of one line: ``caml``, ``edin`` or ``raw``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

WORD = re.compile(r"\w+")
NEITHER_LETTER_NOR_DIGIT = re.compile(r"[^a-z0-9]+")
LETTERS_AND_DIGITS = re.compile(r"[a-z0-9]+")
NUMBERS_BETWEEN_SPACES = re.compile(r"(?:\s\d+)+\s")
LINE_BREAKS = str.maketrans("\t\r\n", "   ")
REMEMBERED = 1 << 20  # token types

STYLES = ("caml", "edin", "raw")

Piece = tuple[int, int, str]  # from, to, in characters of the note; what is written of it


class Style(Protocol):
    """A way to clean notes. The pieces of a note, joined by spaces, are the text that is made of it."""

    def __call__(self, note: str) -> str:
        """The text of a note."""

    def pieces(self, note: str) -> list[Piece]:
        """What is kept of a note, in order, and where it stands there."""


class _Known(dict[str, str]):
    """How a word is written, empty where it is left out; remembered, because words come again."""

    def __init__(self, numbers_only: bool) -> None:
        self.numbers_only = numbers_only

    def __missing__(self, word: str) -> str:
        drop = word.isnumeric() if self.numbers_only else not any(map(str.isalpha, word))
        kept = "" if drop else word.lower()
        if len(self) < REMEMBERED:
            self[word] = kept
        return kept


class CamlStyle:
    r"""Words (``\w+``) in lower case, without those that hold no letter, joined by spaces.

    Args:
        numbers_only: Drop only what is a number through and through, as CAML's program does (``___`` and ``1_2``
            stay), not everything without a letter, as its paper says.
    """

    def __init__(self, numbers_only: bool = False) -> None:
        self._known = _Known(numbers_only)

    def __call__(self, note: str) -> str:
        """The note's words, possibly none."""
        return " ".join(filter(None, map(self._known.__getitem__, WORD.findall(note))))

    def pieces(self, note: str) -> list[Piece]:
        """The words, with their places in the note."""
        found = ((*match.span(), self._known[match[0]]) for match in WORD.finditer(note))
        return [piece for piece in found if piece[2]]


class EdinStyle:
    """Lower case; runs of anything but a–z and 0–9 become a space; numbers that stand alone between words go.

    Source: Edin et al. 2023, "Automated Medical Coding on MIMIC-III and MIMIC-IV", text preprocessing.
    """

    def __call__(self, note: str) -> str:
        """The note's words, possibly none."""
        words = NEITHER_LETTER_NOR_DIGIT.sub(" ", note.lower())
        return " ".join(NUMBERS_BETWEEN_SPACES.sub(" ", words).split())

    def pieces(self, note: str) -> list[Piece]:
        """The words, with their places in the note."""
        lowered = "".join(map(str.lower, note))
        origins = [place for place, character in enumerate(note) for _ in character.lower()]  # İ becomes two
        found = []
        for match in LETTERS_AND_DIGITS.finditer(lowered):
            start, end = match.span()
            # A number at either end of the note has no space on one side and stays.
            if not (match[0].isdigit() and start > 0 and end < len(lowered)):
                found.append((origins[start], origins[end - 1] + 1, match[0]))
        return found


class RawStyle:
    """The note as it is, on one line: every TAB and line break is a space, none at either end."""

    def __call__(self, note: str) -> str:
        """The note on one line."""
        return note.translate(LINE_BREAKS).strip(" ")

    def pieces(self, note: str) -> list[Piece]:
        """The whole of it, if anything is left."""
        text = note.translate(LINE_BREAKS)
        start, kept = len(text) - len(text.lstrip(" ")), text.strip(" ")
        return [(start, start + len(kept), kept)] if kept else []


def style_named(name: str, *, caml_compatible: bool = False) -> Style:
    """What is behind a name of ``STYLES``."""
    if name == "caml":
        return CamlStyle(numbers_only=caml_compatible)
    return EdinStyle() if name == "edin" else RawStyle()


def moved(span: tuple[int, int], pieces: Sequence[Piece]) -> tuple[int, int] | None:
    """Where the characters of a note went.

    Args:
        span: In characters of the note, the end behind the last.
        pieces: What a style keeps of the note.

    Returns:
        From the first to the last kept character of the span, in the text that the style makes; None where it keeps
        none. A piece whose length changed with its case is taken as a whole.
    """
    found: list[int] = []
    offset = 0
    for start, end, kept in pieces:
        if start < span[1] and span[0] < end:
            same = end - start == len(kept)
            first, last = (max(span[0] - start, 0), min(span[1], end) - start) if same else (0, len(kept))
            found += (offset + first, offset + last)
        offset += len(kept) + 1
    return (found[0], found[-1]) if found else None
