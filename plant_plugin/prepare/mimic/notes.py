"""Notes on their way: what a style makes of them, and the scratch file that they wait in.

Cleaned notes are written to a file as they are read, so that memory holds only where they lie.
"""

from __future__ import annotations

import functools
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

WORD = re.compile(r"\w+")
NEITHER_LETTER_NOR_DIGIT = re.compile(r"[^a-z0-9]+")
LETTERS_AND_DIGITS = re.compile(r"[a-z0-9]+")
NUMBERS_BETWEEN_SPACES = re.compile(r"(?:\s\d+)+\s")
LINE_BREAKS = str.maketrans("\t\r\n", "   ")
REMEMBERED = 1 << 20  # token types

STYLES = ("caml", "edin", "raw")

Order = tuple[int | str, ...]  # puts the notes of an admission in a row
Piece = tuple[int, int, str]  # from, to, in characters of the note; what is written of it


class Note(NamedTuple):
    """A discharge summary or an addendum; ``row`` is its ROW_ID."""

    patient: int
    admission: int
    order: Order
    text: str
    row: int | None = None


@dataclass(slots=True)
class Admission:
    """One document to be."""

    patient: int  # SUBJECT_ID
    number: int  # HADM_ID
    codes: frozenset[str] = field(repr=False)
    pieces: list[tuple[Order, int, int]] = field(default_factory=list, repr=False)  # start and bytes in the scratch


class Scratch:
    """Cleaned notes one after the other in a file without a name; without a folder, for a dry run, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.stream: IO[bytes] = open(os.devnull, "w+b") if folder is None else TemporaryFile(dir=folder)
        self.end = 0

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()

    def add(self, text: str) -> tuple[int, int]:
        """Put a text at the end; where it starts, and its bytes."""
        start, size = self.end, self.stream.write(text.encode("utf-8"))
        self.end += size
        return start, size

    def text_of(self, pieces: Iterable[tuple[Order, int, int]]) -> bytes:
        """The notes in order, joined by spaces, UTF-8."""
        parts = []
        for _, start, size in sorted(pieces):
            if size:
                self.stream.seek(start)
                parts.append(self.stream.read(size))
        return b" ".join(parts)


class Style(ABC):
    """A way to clean notes."""

    def __call__(self, note: str) -> str:
        """The text that is made of a note, possibly none: its pieces, joined by spaces."""
        return " ".join(written for _, _, written in self.pieces(note))

    @abstractmethod
    def pieces(self, note: str) -> list[Piece]:
        """Cut a note into the pieces that stay, in order, with their places there."""


@functools.lru_cache(REMEMBERED)
def _spelled(word: str, numbers_only: bool) -> str:
    """Return the spelling of a word, empty where it is left out; remembered, because words come again."""
    drop = word.isnumeric() if numbers_only else not any(map(str.isalpha, word))
    return "" if drop else word.lower()


class CamlStyle(Style):
    r"""Words (``\w+``) in lower case, without those that hold no letter, joined by spaces.

    Args:
        numbers_only: Drop only what is a number through and through, as CAML's program does (``___`` and ``1_2``
            stay), not everything without a letter, as its paper says.
    """

    def __init__(self, numbers_only: bool = False) -> None:
        self._numbers_only = numbers_only

    def __call__(self, note: str) -> str:
        """Clean a note as :meth:`pieces` does, in a third of the time."""
        return " ".join(filter(None, (_spelled(word, self._numbers_only) for word in WORD.findall(note))))

    def pieces(self, note: str) -> list[Piece]:
        """The words, with their places in the note."""
        words = ((*match.span(), _spelled(match[0], self._numbers_only)) for match in WORD.finditer(note))
        return [piece for piece in words if piece[2]]


class EdinStyle(Style):
    """Lower case; runs of anything but a–z and 0–9 become a space; numbers between words go.

    Source: Edin et al. 2023, "Automated Medical Coding on MIMIC-III and MIMIC-IV", text preprocessing.
    """

    def __call__(self, note: str) -> str:
        """Clean a note as :meth:`pieces` does, by the expressions of its source, in a quarter of the time."""
        words = NEITHER_LETTER_NOR_DIGIT.sub(" ", note.lower())
        return " ".join(NUMBERS_BETWEEN_SPACES.sub(" ", words).split())

    def pieces(self, note: str) -> list[Piece]:
        """The words, with their places in the note."""
        lowered = "".join(map(str.lower, note))
        origins = [place for place, character in enumerate(note) for _ in character.lower()]  # İ becomes two
        words = []
        for match in LETTERS_AND_DIGITS.finditer(lowered):
            start, end = match.span()
            # A number at either end of the note has no space on one side and stays.
            if not (match[0].isdigit() and start > 0 and end < len(lowered)):
                words.append((origins[start], origins[end - 1] + 1, match[0]))
        return words


class RawStyle(Style):
    """The note as it is, on one line: every TAB and line break is a space, none at either end."""

    def pieces(self, note: str) -> list[Piece]:
        """The whole of it, if anything is left."""
        text = note.translate(LINE_BREAKS)
        start, stripped = len(text) - len(text.lstrip(" ")), text.strip(" ")
        return [(start, start + len(stripped), stripped)] if stripped else []


def style_named(name: str, *, caml_compatible: bool = False) -> Style:
    """Return the style of a name of ``STYLES``."""
    if name == "caml":
        return CamlStyle(numbers_only=caml_compatible)
    return EdinStyle() if name == "edin" else RawStyle()


def moved(span: tuple[int, int], pieces: Sequence[Piece]) -> tuple[int, int] | None:
    """Find a span of a note again in the text that a style makes of these pieces of it.

    From the first to the last kept character of the span; None where none is kept. A piece whose length changed with
    its case is taken as a whole.
    """
    places: list[int] = []
    offset = 0
    for start, end, written in pieces:
        if start < span[1] and span[0] < end:
            same = end - start == len(written)
            first, last = (max(span[0] - start, 0), min(span[1], end) - start) if same else (0, len(written))
            places += (offset + first, offset + last)
        offset += len(written) + 1
    return (places[0], places[-1]) if places else None
