"""Left and right: the side that a code's description names, and the sides that words of a text say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# Of English, Spanish, French, German, Italian and Portuguese.
WORDS = {
    "right": r"right|rt|derech[oa]s?|dch[oa]|droite?s?|rechte?[mnrs]?|rechts|destr[oaie]|direit[oa]s?",
    "left": r"left|lt|izquierd[oa]s?|izq|gauches?|linke?[mnrs]?|links|sinistr[oaie]|esquerd[oa]s?",
    "bilateral": r"bilateral(?:e?s|mente|ly|e)?|bilat[ée]ra(?:l|ux)|both|amb[oa]s|beide?[mnrs]?|beidseits|entramb[ie]",
}
SAYS = re.compile("|".join(rf"(?P<{side}>\b(?:{words})\b)" for side, words in WORDS.items()), re.IGNORECASE)
OF_CODES = re.compile(r"\b(right|left|bilateral)\b", re.IGNORECASE)
NEAR = 80  # characters around a passage, in which its neighbours lie
BEFORE = re.compile(r"(?:\b\w+[\s-]+){1,3}\Z")  # words without a mark between them
AFTER = re.compile(r"(?:[\s-]+\w+\b){1,3}")


class Side(NamedTuple):
    """A word of a text that says a side, in characters."""

    side: str
    start: int
    end: int


def side_of(description: str) -> str | None:
    """Return the one side that a description names; None where it names none, or several."""
    sides = {side.lower() for side in OF_CODES.findall(description)}
    return sides.pop() if len(sides) == 1 else None


def mirrored(description: str) -> str:
    """Return a description with left for right and right for left."""
    other = {"left": "right", "right": "left"}
    return OF_CODES.sub(lambda word: other.get(word[0], word[0]), description)


def sides_said(text: str, spans: Iterable[tuple[int, int]]) -> list[Side]:
    """Return the sides that are said in spans of a text, and by up to three words on either side of each."""
    found = []
    for start, end in spans:
        near = max(0, start - NEAR)
        before, after = BEFORE.search(text[near:start]), AFTER.match(text[end : end + NEAR])
        first = start if before is None else near + before.start()
        last = end if after is None else end + after.end()
        matches = SAYS.finditer(text, first, last)
        found += [Side(str(match.lastgroup), *match.span()) for match in matches]
    return found
