"""How a note becomes the text of one line: ``caml``, ``edin`` or ``raw``."""

from __future__ import annotations

import re
from collections.abc import Callable

WORD = re.compile(r"\w+")
NEITHER_LETTER_NOR_DIGIT = re.compile(r"[^a-z0-9]+")
NUMBERS_BETWEEN_SPACES = re.compile(r"(?:\s\d+)+\s")
LINE_BREAKS = str.maketrans("\t\r\n", "   ")
REMEMBERED = 1 << 20  # token types

STYLES = ("caml", "edin", "raw")


class CamlStyle:
    r"""Words (``\w+``) in lower case, without those that hold no letter, joined by spaces.

    Args:
        numbers_only: Drop only what is a number through and through, as CAML's program does (``___`` and ``1_2``
            stay), not everything without a letter, as its paper says.
    """

    def __init__(self, numbers_only: bool = False) -> None:
        self.numbers_only = numbers_only
        self._known: dict[str, str] = {}

    def __call__(self, note: str) -> str:
        """The note's words, possibly none."""
        known = self._known
        words = []
        for word in WORD.findall(note):
            kept = known.get(word)
            if kept is None:
                drop = word.isnumeric() if self.numbers_only else not any(map(str.isalpha, word))
                kept = "" if drop else word.lower()
                if len(known) < REMEMBERED:
                    known[word] = kept
            if kept:
                words.append(kept)
        return " ".join(words)


def edin_style(note: str) -> str:
    """Lower case; runs of anything but a–z and 0–9 become a space; numbers that stand alone between words go.

    Source: Edin et al. 2023, "Automated Medical Coding on MIMIC-III and MIMIC-IV", text preprocessing.
    """
    words = NEITHER_LETTER_NOR_DIGIT.sub(" ", note.lower())
    return " ".join(NUMBERS_BETWEEN_SPACES.sub(" ", words).split())


def raw_style(note: str) -> str:
    """The note as it is, on one line: every TAB and line break is a space, none at either end."""
    return note.translate(LINE_BREAKS).strip(" ")


def style_named(name: str, *, caml_compatible: bool = False) -> Callable[[str], str]:
    """The function behind a name of ``STYLES``."""
    if name == "caml":
        return CamlStyle(numbers_only=caml_compatible)
    return edin_style if name == "edin" else raw_style
