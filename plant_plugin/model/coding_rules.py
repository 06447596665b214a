"""Rules of ICD-10-CM for the codes of one document, as hints to a coder: what the tabular list says of them.

Nothing is changed by a hint. Codes that cannot be billed, pairs that exclude each other and a side that the text does
not say are faults, as long as nothing speaks for them; notes to code something first, also or in addition are kept
until a code that they name is among those of the document.

Source: ICD-10-CM's tabular list, as simple-icd-10-cm holds it, and its Official Guidelines for Coding and Reporting:
sections I.A.5 (seventh characters), I.A.12.a (Excludes1), I.A.13 and I.A.17 (code first, use additional code, code
also), I.B.2 (codes in full detail) and I.B.13 (laterality). Notes of chapters and blocks count for Excludes1 only: an
additional code is asked for at most injuries and all diseases of the lungs, which every coder knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from itertools import permutations

from plant_plugin.model.code_forms import FORMS, TELLING
from plant_plugin.model.code_notes import names
from plant_plugin.model.scored_label import Hint
from plant_plugin.model.sides import Side, mirrored, side_of

FORM = re.compile(FORMS["hl7.org/fhir/sid/icd-10-cm"])
ICDO = re.compile(TELLING["http://terminology.hl7.org/CodeSystem/icd-o-3"])
MOST_OF = 0.5  # of the labels are written as its codes are: others may be procedures
KNOWN = 0.9  # of these are in this release: CodiEsp's are of 2018
LONG = 6  # characters, which neither WHO's ICD-10 nor ICD-10-GM has
PACKAGE = "simple-icd-10-cm"


@lru_cache(maxsize=4)  # asked again for each document
def rules_for(labels: tuple[str, ...]) -> CodingRules | None:
    """Return the rules for a model's labels; None where these are no codes of ICD-10-CM.

    They are where at least nine of ten labels that are written as its codes are in its list, and one is longer than
    those of any other ICD, or all may be assigned.
    """
    codes = [label.upper() for label in labels if FORM.fullmatch(label.upper())]
    if not codes or len(codes) < MOST_OF * len(labels):
        return None
    long = any(len(code.replace(".", "")) >= LONG for code in codes)
    if not long and all(ICDO.fullmatch(code) for code in codes):
        return None
    rules = CodingRules()
    known = [code for code in codes if rules.known(code)]
    telling = long or all(rules.icd.is_valid_item(code) and rules.icd.is_leaf(code) for code in codes)
    return rules if telling and len(known) >= KNOWN * len(codes) else None


class CodingRules:
    """The tabular list, asked about the codes of documents."""

    def __init__(self) -> None:
        import simple_icd_10_cm as icd  # slow to import

        self.icd = icd

    def hints(self, labels: Sequence[str], said: Mapping[str, Sequence[Side]] | None = None) -> dict[str, list[Hint]]:
        """Return the hints for each label of one document, faults first; of a label that is no code, none.

        Args:
            labels: All codes that are suggested or accepted, as the data write them.
            said: Label -> the sides that the words that speak for it say, of :func:`sides_said`.
        """
        codes = {label: label.upper() for label in labels if FORM.fullmatch(label.upper())}
        found: dict[str, list[Hint]] = {label: self._faults(code) for label, code in codes.items()}
        for label, code in codes.items():
            found[label] += self._side(code, (said or {}).get(label, ()), codes.values())
        for label, other, text in self._excluded(codes):
            for one, partner in ((label, other), (other, label)):
                what = f"not beside {partner}, unless the two are unrelated: {text}"
                found[one].append({"rule": "excludes1", "text": what, "codes": [partner]})
        for label, code in codes.items():
            found[label] += self._notes(code, {other: codes[other] for other in codes if other != label})
        return found

    def known(self, code: str) -> str | None:
        """Return the item of the list that a code is, without ``X`` that only fill its places; None: there is none."""
        return next((item for item in (code, code.rstrip("X").rstrip(".")) if self.icd.is_valid_item(item)), None)

    def sided(self, label: str) -> bool:
        """Tell whether a label is a code of one side."""
        return self._side_of(label.upper()) is not None

    def _side_of(self, code: str) -> str | None:
        return side_of(self._description(code)) if FORM.fullmatch(code) else None

    def _description(self, code: str) -> str:
        known = self.known(code)
        return "" if known is None else str(self.icd.get_description(known))

    def _faults(self, code: str) -> list[Hint]:
        """Return why a code cannot be billed."""
        known = self.known(code)
        if known is None:
            return [{"rule": "unknown", "text": f"not in ICD-10-CM as {PACKAGE} {version(PACKAGE)} has it"}]
        if not (below := self.icd.get_children(known)):
            return []
        if all(len(child.replace(".", "")) == 7 for child in below):
            meaning = self.icd.get_seven_chr_def(known, search_in_ancestors=True)
            signs = "; ".join(f"{child[-1]}, {meaning.get(child[-1], self.icd.get_description(child))}"
                              for child in below)  # fmt: skip
            return [{"rule": "seventh_character", "text": f"the seventh character is missing: {signs}", "codes": below}]
        finer = f"{below[0]} to {below[-1]} say more" if below[1:] else f"{below[0]} says more"
        text = f"cannot be billed: {finer}"
        return [{"rule": "not_billable", "text": text, "codes": below}]

    def _side(self, code: str, said: Sequence[Side], codes: Iterable[str]) -> Iterator[Hint]:
        """Yield that the words say another side than the code, if they do.

        Where they say both sides, two codes may stand for them: one of each.
        """
        side, sides = self._side_of(code), {each.side for each in said}
        if side is None or not sides or side in sides or (side == "bilateral" and len(sides) > 1):
            return
        other = mirrored(self._description(code))
        if sides == {"bilateral"} and any(self._description(each) == other for each in codes):
            return
        word = said[0]
        text = f"the code says {side}, the words that speak for it say {word.side}"
        yield {"rule": "laterality", "text": text, "start": word.start, "end": word.end}

    def _excluded(self, codes: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
        """Yield pairs of labels that exclude each other, each once, and the nearest note that says it."""
        owners, pairs = {label: self._upwards(code) for label, code in codes.items()}, set()
        for (label, _), (other, code) in permutations(codes.items(), 2):
            own = [owner for owner in owners[label] if owner not in owners[other]]
            notes = [(owner, note) for owner in own for note in self.icd.get_excludes1(owner) if names(note, code)]
            if notes and (pair := frozenset((label, other))) not in pairs:
                pairs.add(pair)
                owner, note = notes[0]
                yield label, other, f"Excludes1 of {owner}, {note}"

    def _notes(self, code: str, others: Mapping[str, str]) -> Iterator[Hint]:
        """Yield what a code and its headings up to the category want coded beside it."""
        wanted = {
            "code_first": ("code first", self.icd.get_code_first),
            "code_also": ("code also", self.icd.get_code_also),
            "use_additional_code": ("use additional", self.icd.get_use_additional_code),
        }
        for owner in filter(self.icd.is_category_or_subcategory, self._upwards(code)):
            for rule, (words, note_of) in wanted.items():
                if not (note := note_of(owner)):
                    continue
                there = [label for label, other in others.items() if names(note, other)]
                if not there:
                    text = re.sub(r"\s*\n\s*,?\s*", "; ", note.lstrip(", ")).replace(":;", ":")
                    yield {"rule": rule, "text": f"{words} {text}"}
                elif rule == "code_first":
                    yield {"rule": rule, "text": f"after {', '.join(there)}, which is coded first", "codes": there}

    def _upwards(self, code: str) -> list[str]:
        """Return a code and all that it belongs to, up to the chapter."""
        known = self.known(code)
        return [] if known is None else list(dict.fromkeys((known, *self.icd.get_ancestors(known))))
