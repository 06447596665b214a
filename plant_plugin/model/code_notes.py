"""Which codes a note of ICD-10-CM's tabular list names: ``diabetes (E08.-)``, ``E08-E13 with .51-.52``.

Codes count only in parentheses; what stands outside is words. A clause after ``with`` that cannot be read names no code
at all, so that a note never holds for more codes than it says.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

CODE = r"[A-Z]\d[0-9A-Z](?:\.[0-9A-Z]{1,4})?"
RANGE = re.compile(rf"({CODE})(?:\.?-?\s*(?:-|to)\s*-?({CODE}))?")
PARENTHESES = re.compile(r"\(([^()}]*[)}])")  # one note ends in a brace
CLAUSE = re.compile(r",?\s*-?with\s+")
AFTER_THE_DOT = re.compile(r"\.(\w+)-?(?:\.(\w+))?")
CHARACTER = re.compile(r"(?:(final)|(\w+?)(?:th)?(?: (?:or|to) (\w+?)(?:th)?)?)[ -]characters? [-.]?(\w+)(?:-(\w))?")
PLACES = {"fif": 5, "5": 5, "six": 6, "6": 6, "seven": 7, "7": 7}


class Named(NamedTuple):
    """Codes that a note names, without dots: a range, or one code with all below it.

    Attributes:
        first: The first code of the range.
        last: Its last, with all codes below it.
        tail: What a code looks like besides.
    """

    first: str
    last: str
    tail: re.Pattern[str]

    def has(self, code: str) -> bool:
        """Tell whether a code, in capitals, is one of them."""
        plain = code.replace(".", "")
        within = self.first <= plain[: len(self.first)] and plain[: len(self.last)] <= self.last
        return within and self.tail.search(plain) is not None


def names(note: str, code: str) -> bool:
    """Tell whether a note names a code, in capitals."""
    return any(named.has(code) for named in named_codes(note))


@cache  # a release has some seven thousand notes
def named_codes(note: str) -> tuple[Named, ...]:
    """Return the codes that a note names; none where it has only words."""
    found = []
    for inside in PARENTHESES.findall(note):
        codes, _, clause = CLAUSE.sub("\0", inside[:-1], count=1).partition("\0")
        if (tail := _tail(clause.strip())) is not None:
            for first, last in RANGE.findall(codes):
                ends = first.replace(".", ""), (last or first).replace(".", "")
                found.append(Named(*ends, tail))
    return tuple(found)


def _tail(clause: str) -> re.Pattern[str] | None:
    """Return what codes look like that a clause ``with …`` allows; None: it says nothing that can be read."""
    if not clause:
        return re.compile("")
    if match := AFTER_THE_DOT.fullmatch(clause):
        return re.compile("^...(?:{})".format("|".join(_between(match[1], match[2] or match[1]))))
    if not (match := CHARACTER.fullmatch(clause)):
        return None
    final, place, other, first, last = match.groups()
    signs = "|".join(_between(first, last or first))
    if final:
        return re.compile(f"(?:{signs})$")
    places = [PLACES.get(word) for word in (place, other) if word]
    if None in places:
        return None
    return re.compile("|".join(f"^.{{{number - 1}}}(?:{signs})" for number in places if number))


def _between(first: str, last: str) -> list[str]:
    """Return numbers from a first to a last of as many digits; else only these two."""
    if first.isdecimal() and last.isdecimal() and len(first) == len(last):
        return [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    return sorted({first, last})
