"""Made-up discharge summaries, at any size: codes that come in groups, told in busy authors' words.

The built-in data (``demo:train``, ``demo:valid``, ``demo:test``) are what this program writes with its defaults. To
have fewer notes, or more:

    python examples/made_up_notes.py --documents 280 --labels 60 --out data/notes

The 60 commonest codes are told as ``made_up_notes.yml`` has clinicians write them; beyond these, wording comes from
descriptions and inclusion terms of ICD-10-CM (package ``simple_icd_10_cm``, offline), shortened and abbreviated. The
task is not trivial: every note mentions conditions that the patient does not have, and categories hold several codes.
Importing this module reads all of ICD-10-CM (seconds).
"""

from __future__ import annotations

import argparse
import random
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import simple_icd_10_cm as icd
import yaml

SPLITS = ("train", "valid", "test")
RANK_SHIFT = 5  # Zipf-Mandelbrot: keeps the first few codes from being in every note
SAME_GROUP = 0.5  # chance that the next code comes from the group of one already drawn
LISTED = 0.5  # chance that a note also lists conditions in one sentence
DRAWS = 100  # after which a note keeps the codes that it has: few labels may all stand apart
STEEP, FLAT = 2.0, 1.2  # Zipf's exponents: of the common codes (the rarest in a dozen notes), of large label sets
EMPTY_WORDS = re.compile(r"\b(?:other|unspecified|specified|not elsewhere classified|nos|nec)\b|[,;:()\[\]]")
VALID, TEST, WHOLE = 3, 5, 28  # parts of all documents, those of the built-in data: 300 and 500 of 2,800
PHRASES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text(encoding="utf-8"))
COMMON = PHRASES["common"]
ACUTE = "acute"  # the kind of a condition whose code is not among the common ones


@dataclass(frozen=True)
class Size:
    """Size and shape of the made-up data; the defaults made what ``demo:train`` and its siblings name."""

    seed: int = 20240607
    train: int = 2000  # documents
    valid: int = 300
    test: int = 500
    labels: int = len(COMMON)  # codes that can be drawn
    exponent: float = STEEP  # how steeply frequencies of codes fall


def size_of(documents: int, labels: int, seed: int) -> Size:
    """The size of so many documents in all; 2,800 with the built-in seed and labels are ``demo:train`` and siblings."""
    valid, test = documents * VALID // WHOLE, documents * TEST // WHOLE
    exponent = STEEP if labels <= len(COMMON) else FLAT
    return Size(seed, documents - valid - test, valid, test, labels, exponent)


@dataclass(frozen=True, eq=False)  # each exists once
class _Condition:
    code: str
    group: str
    terms: tuple[str, ...]  # as clinicians write it; else official description and inclusion terms, lower case
    weight: float  # relative frequency
    kind: str = ACUTE  # whose sentences it takes
    sex: str | None = None  # of the patients who can have it

    def stands_apart(self, other: _Condition) -> bool:
        """Whether no coder gives a patient both: one category, or one of the pairs that are known."""
        pairs = ((self.code, other.code), (other.code, self.code))
        apart = any(one.startswith(a) and two.startswith(b) for a, b in PHRASES["apart"] for one, two in pairs)
        return apart or self.code[:3] == other.code[:3]


class _Pool:
    """Conditions to draw from; a draw takes the logarithm of their number, so that label sets may be large."""

    def __init__(self, conditions: list[_Condition]) -> None:
        self.conditions = conditions
        self.sums = list(accumulate(condition.weight for condition in conditions))
        self.places_of: dict[str, list[int]] = {}
        for place, condition in enumerate(conditions):
            self.places_of.setdefault(condition.group, []).append(place)

    def __len__(self) -> int:
        return len(self.conditions)

    def draw(self, chosen: list[int], source: random.Random) -> int:
        """The place of one more condition, by weight."""
        chosen = sorted(chosen)
        weights = [self.conditions[place].weight for place in chosen]
        drawn = source.random() * (self.sums[-1] - sum(weights))
        for place, weight in zip(chosen, weights, strict=True):
            if drawn < self.sums[place] - weight:
                break
            drawn += weight
        return min(bisect(self.sums, drawn), len(self) - 1)

    def draw_related(self, chosen: list[int], source: random.Random) -> int | None:
        """The place of one more condition of the groups of those chosen, if chance and the groups have one."""
        groups = {self.conditions[place].group for place in chosen}
        related = sorted(place for group in groups for place in self.places_of[group] if place not in chosen)
        if not related or source.random() >= SAME_GROUP:
            return None
        return source.choices(related, [self.conditions[place].weight for place in related])[0]

    def fits(self, place: int, chosen: list[int]) -> bool:
        """Whether a coder would give this condition beside those chosen."""
        return not any(self.conditions[place].stands_apart(self.conditions[one]) for one in chosen)

    def others(self, chosen: list[int], source: random.Random) -> list[_Condition]:
        """Two to four of those not chosen, each as likely."""
        left = len(self) - len(chosen)
        others = []
        for place in source.sample(range(left), min(source.randint(2, 4), left)):
            for taken in sorted(chosen):
                place += taken <= place
            others.append(self.conditions[place])
        return others


def write_notes(size: Size) -> dict[str, Iterator[str]]:
    """Lines ``codes TAB note`` of each split; the same size always give the same lines.

    Raises:
        ValueError: Fewer than one label, or more than there are codes to draw.
    """
    pool = _Pool(_conditions(size))
    if not 0 < size.labels <= len(pool):
        raise ValueError(f"{size.labels:,} labels, but there are {len(pool):,} codes to draw from: ask for fewer")
    return {split: _lines(pool, split, size) for split in SPLITS}


def _lines(pool: _Pool, split: str, size: Size) -> Iterator[str]:
    source = random.Random(f"{size.seed} {split}")
    for _ in range(getattr(size, split)):
        chosen = _draw(pool, source)
        codes = " ".join(sorted(pool.conditions[place].code for place in chosen))
        yield f"{codes}\t{_note(chosen, pool, source)}\n"


def _conditions(size: Size) -> list[_Condition]:
    """The label set with its frequencies: leaves of each group's categories, in random order of frequency."""
    source = random.Random(f"{size.seed} conditions")
    by_category = []
    for group, known in PHRASES["groups"].items():
        for category in known["categories"]:
            leaves = [code for code in icd.get_descendants(category) if icd.is_leaf(code)] or [category]
            by_category.append([(code, group) for code in source.sample(leaves, len(leaves)) if code not in COMMON])
    # The common codes in their order; then one of each category in turn, so that every group is covered.
    rounds = max(map(len, by_category))
    more = [codes[place] for place in range(rounds) for codes in by_category if place < len(codes)]
    more = more[: max(0, size.labels - len(COMMON))]
    source.shuffle(more)
    pool = [*((code, known["group"]) for code, known in COMMON.items()), *more][: size.labels]
    conditions = []
    for rank, (code, group) in enumerate(pool, 1):
        weight, known = (rank + RANK_SHIFT) ** -size.exponent, COMMON.get(code)
        if known is None:
            conditions.append(_Condition(code, group, _terms(code), weight))
        else:
            conditions.append(_Condition(code, group, tuple(known["said"]), weight, known["kind"], known.get("sex")))
    return conditions


def _terms(code: str) -> tuple[str, ...]:
    terms = [icd.get_description(code), *icd.get_inclusion_term(code)]
    cleaned = (" ".join(EMPTY_WORDS.sub(" ", term.lower()).split()) for term in terms)
    return tuple(dict.fromkeys(term for term in cleaned if term))


def _draw(pool: _Pool, source: random.Random) -> list[int]:
    """Places of four to six conditions, each next one often from the group of one already drawn."""
    chosen: list[int] = []
    number = min(source.randint(4, 6), len(pool))
    for _ in range(DRAWS):
        related = pool.draw_related(chosen, source)
        place = pool.draw(chosen, source) if related is None else related
        if pool.fits(place, chosen):
            chosen.append(place)
        if len(chosen) == number:
            break
    return chosen


def _note(chosen: list[int], pool: _Pool, source: random.Random) -> str:
    """A note of 150 to 300 words about the chosen conditions."""
    parts: dict[str, list[str]] = {heading: [] for heading in PHRASES["sections"]}
    conditions = [pool.conditions[place] for place in chosen]
    for condition in conditions:
        for _ in range(2 if source.random() < 0.3 else 1):
            _add(parts, PHRASES["present"][condition.kind], _said(condition, source), source)
        if source.random() < 0.5:
            _add(parts, PHRASES["hints"], source.choice(PHRASES["groups"][condition.group]["hints"]), source)
    for absent in _absent(chosen, pool, source):
        _add(parts, PHRASES["absent"][absent.kind], _said(absent, source), source)
    chronic = [one for one in conditions if one.kind == "chronic"]
    for name, last, listed in (("present", "and", chronic), ("absent", "or", _absent(chosen, pool, source))):
        if len(listed) > 1 and source.random() < LISTED:
            _add(parts, PHRASES["lists"][name], _in_one(listed, last, source), source)
    sex = next((one.sex for one in conditions if one.sex), source.choice(("man", "woman")))
    opening = f"CHIEF COMPLAINT: {source.choice(PHRASES['symptoms'])}. {source.randint(55, 91)} year old {sex}."
    wanted = source.randint(170, 270)
    words = len(opening.split()) + sum(len(f"{name} {' '.join(facts)}".split()) for name, facts in parts.items())
    filler = [(name, one) for name, sentences in PHRASES["filler"].items() for one in sentences]
    for heading, sentence in source.sample(filler, len(filler)):
        if words >= wanted:
            break
        a, b, c = source.randint(2, 8), source.randint(61, 88), source.randint(108, 148)
        parts[heading].append(sentence.format(a=a, b=b, c=c))
        words += len(parts[heading][-1].split())
    note = [opening]
    for heading, facts in parts.items():
        note += [f"{heading}:", *source.sample(facts, len(facts))]
    return " ".join(" ".join(note).split())


def _absent(chosen: list[int], pool: _Pool, source: random.Random) -> list[_Condition]:
    """A few conditions that the patient does not have, of the kinds that are denied or ruled out."""
    others = [one for one in pool.others(chosen, source) if one.kind in PHRASES["absent"]]
    return [one for one in others if not any(one.stands_apart(pool.conditions[place]) for place in chosen)]


def _add(parts: dict[str, list[str]], templates: dict[str, list[str]], words: str, source: random.Random) -> None:
    """Add a sentence to one of the parts of a note that have sentences of this kind."""
    heading = source.choice(sorted(templates))
    sentence = source.choice(templates[heading]).format(words)
    parts[heading].append(sentence[0].upper() + sentence[1:])


def _in_one(conditions: list[_Condition], last: str, source: random.Random) -> str:
    """Several conditions in one list, as ``COPD, HTN, or T2DM``; some authors write commas only."""
    said = [_said(one, source) for one in conditions]
    word = f"{last} " if source.random() < 0.5 else ""
    return f"{', '.join(said[:-1])}, {word}{said[-1]}"


def _said(condition: _Condition, source: random.Random) -> str:
    """A condition as clinicians write it; an official term is abbreviated and may lose a word."""
    said = source.choice(condition.terms)
    if condition.code in COMMON:
        return said
    for long_form, short in PHRASES["abbreviations"].items():
        if long_form in said and source.random() < 0.5:
            said = re.sub(rf"\b{long_form}\b", short, said)
    words = said.split()
    if len(words) > 3:
        words = [word for word in words if source.random() >= 0.15] or words
    return " ".join(words)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write made-up discharge summaries: train.txt, valid.txt, test.txt.")
    parser.add_argument("--documents", required=True, type=int, help="In all, 28 at least; 3 of 28 validate, 5 test.")
    parser.add_argument("--labels", default=300, type=int, help="Codes that can be drawn (default: %(default)s).")
    parser.add_argument("--seed", default=Size().seed, type=int, help="Another seed, other notes.")
    parser.add_argument("--out", required=True, type=Path, help="Where the three files go.")
    options = parser.parse_args(arguments)
    if options.documents < WHOLE:
        parser.error(f"--documents: at least {WHOLE}, so that each file has some")
    try:
        notes = write_notes(size_of(options.documents, options.labels, options.seed))
    except ValueError as error:
        parser.error(f"--labels: {error}")
    options.out.mkdir(parents=True, exist_ok=True)
    for split, lines in notes.items():
        (options.out / f"{split}.txt").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
