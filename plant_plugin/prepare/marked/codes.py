"""Codes: of which terminology they are, and how they are found in a note that somebody wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from plant_plugin.errors import DataError

# A name before a colon (`ICD10: E11.9`, `MeSH:D003920`; no code is one), or ICD's without one (`ICD-10 E11.9`).
ABOVE = (
    r"(?P<above>[A-Za-z][A-Za-z_-][\w-]{0,40})(?:(?<=[A-Z0-9])\s*[:=]\s*|:(?=\S))"
    r"|(?P<icd>(?i:ICD[-_ ]?(?:O|9|10|11)(?:-?(?:CM|PCS|GM))?))\s+"
)
PLAIN = r"[A-Za-z]{0,3}\d[A-Z0-9]*(?:[.-][A-Z0-9]+)*"
# What is a code even between words: ICD-10 and ATC, ICD-10-PCS, ICD-9 with its point, concepts of UMLS. Vitamin B12 and
# the vertebrae T10 to T12 are none.
AMONG_WORDS = (
    r"(?!(?:B12|T1[0-2])\b(?!\.))[A-Z]\d[0-9AB][0-9A-Z]{0,4}(?:\.[0-9A-Z]{1,4})?|\d(?=\d*[A-Z])[0-9A-HJ-NP-Z]{6}"
    r"|\d{3}\.\d{1,2}|C\d{7}"
)
ONLY_CODES = re.compile(rf"(?:{ABOVE})?(?P<code>{PLAIN})[*†+!.]?")
CODE = re.compile(rf"(?<![\w.-])(?:(?:{ABOVE})(?P<any>{PLAIN})|(?P<code>{AMONG_WORDS}))(?![\w-])(?!\.\w)")
BETWEEN = re.compile(r"[\s,;|/&()\[\]]+")
NO_CODE = re.compile(r"\d{1,4}([.-])\d{1,2}\1\d{2,4}|(?i:ICD)\w*")  # a date, a terminology
NAME = re.compile(r"[A-Za-z][\w.+-]{0,39}")  # what may be shown of a file: a word of a schema, not of a text


@dataclass(frozen=True)
class Code:
    """A code or another label.

    Attributes:
        name: As it is spelled.
        above: What it is of: a terminology, or all entries of a taxonomy that it lies below; empty: nobody says.
    """

    name: str
    above: tuple[str, ...] = ()

    def label(self) -> str:
        """Its name with all that it is of."""
        return ":".join((*self.above, self.name))


def same(name: str) -> str:
    """A terminology's name as it compares: ``ICD-10`` and ``icd10`` are one."""
    return re.sub(r"[\W_]+", "", name).casefold()


def codes_in(note: str, pattern: re.Pattern[str] | None = None) -> list[Code]:
    """Codes that a note holds: of ``E11.9; R05`` both, of ``E11.9 main problem`` the first word only.

    Args:
        note: What somebody wrote.
        pattern: What a code is, instead; its first group, or all of it.
    """
    if pattern is not None:
        return [Code(match[1 if pattern.groups else 0]) for match in pattern.finditer(note) if match[0].strip()]
    parts = [part for part in BETWEEN.split(re.sub(rf"(?:{ABOVE})", _joined, note).strip()) if part]
    whole = [ONLY_CODES.fullmatch(part) for part in parts]
    if all(match and len(match["code"]) > 2 and not NO_CODE.fullmatch(match["code"]) for match in whole):
        return [_code(match, match["code"]) for match in whole if match]
    return [_code(match, match["any"] or match["code"]) for match in CODE.finditer(note)]


def alike(codes: Iterable[Code]) -> set[str]:
    """Names that codes of several terminologies have."""
    of_name: dict[str, set[tuple[str, ...]]] = {}
    for code in codes:
        if code.above:
            of_name.setdefault(code.name, set()).add(tuple(map(same, code.above)))
    return {name for name, above in of_name.items() if len(above) > 1}


def compiled(pattern: str | None) -> re.Pattern[str] | None:
    """The pattern of codes that a user gives.

    Raises:
        DataError: It is no regular expression.
    """
    try:
        return re.compile(pattern) if pattern else None
    except re.error as error:
        fix = r"e.g. --code-pattern '[A-Z]\d\d(\.\d+)?' (https://docs.python.org/3/library/re.html)"
        raise DataError(f"no regular expression ({error.msg})", where="--code-pattern", fix=fix) from None


def _joined(match: re.Match[str]) -> str:
    return f"{match['above'] or match['icd'].replace(' ', '-')}:"


def _code(match: re.Match[str], name: str) -> Code:
    above = match["above"] or match["icd"]
    return Code(name, (above,) if above else ())
