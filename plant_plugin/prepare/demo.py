"""The built-in made-up discharge summaries, at any size: codes that come in groups, told in busy authors' words.

The 60 commonest codes are told as ``demo_phrases.yml`` has clinicians write them; beyond these, wording comes from
descriptions and inclusion terms of ICD-10-CM (package ``simple_icd_10_cm``, offline), shortened and abbreviated. The
task is not trivial: every note mentions conditions that the patient does not have, and categories hold several codes.
Importing this module reads all of ICD-10-CM (seconds).
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path

import simple_icd_10_cm as icd
import yaml

from plant_plugin.data.documents import DEMO_SPLITS
from plant_plugin.errors import ConfigError
from plant_plugin.prepare.output import Made, opened, staged, write_provenance

GENERATOR_VERSION = 2  # counts up whenever this module writes other notes
RANK_SHIFT = 5  # Zipf-Mandelbrot: keeps the first few codes from being in every note
SAME_GROUP = 0.5  # chance that the next code comes from the group of one already drawn
DRAWS = 100  # after which a note keeps the codes that it has: few labels may all stand apart
STEEP, FLAT = 2.0, 1.2  # Zipf's exponents: of the common codes (the rarest in a dozen notes), of large label sets
EMPTY_WORDS = re.compile(r"\b(?:other|unspecified|specified|not elsewhere classified|nos|nec)\b|[,;:()\[\]]")
VALID, TEST, WHOLE = 3, 5, 28  # parts of all documents, those of the built-in data: 300 and 500 of 2,800
PHRASES = yaml.safe_load(Path(__file__).with_name("demo_phrases.yml").read_text(encoding="utf-8"))
COMMON = PHRASES["common"]
ACUTE = "acute"  # the kind of a condition whose code is not among the common ones


@dataclass(frozen=True)
class DemoOptions:
    """Size and shape of the made-up data; the defaults made what ``demo:train`` and its siblings name."""

    seed: int = 20240607
    train: int = 2000  # documents
    valid: int = 300
    test: int = 500
    labels: int = len(COMMON)  # codes that can be drawn
    exponent: float = STEEP  # how steeply frequencies of codes fall


def sized(documents: int, labels: int, seed: int) -> DemoOptions:
    """Options for so many documents in all; 2,800 with the built-in seed and labels are ``demo:train`` and siblings."""
    valid, test = documents * VALID // WHOLE, documents * TEST // WHOLE
    exponent = STEEP if labels <= len(COMMON) else FLAT
    return DemoOptions(seed, documents - valid - test, valid, test, labels, exponent)


def prepare_demo(out: Path, documents: int, labels: int, seed: int, dry_run: bool = False) -> Made:
    """Write ``train.txt``, ``valid.txt``, ``test.txt`` and ``provenance.json``, a document at a time.

    A ``dry_run`` draws the same documents, so that it can tell how many labels they have, and writes nothing.

    Raises:
        ConfigError: More labels than there are codes.
        PlantError: The folder cannot be written.
    """
    options = sized(documents, labels, seed)
    notes, given = write_notes(options), set[str]()
    counts = {split: getattr(options, split) for split in DEMO_SPLITS}
    with nullcontext() if dry_run else staged(out) as stage:
        for split in DEMO_SPLITS:
            with opened(stage, f"{split}.txt") as stream:
                for line in notes[split]:
                    given.update(line.partition("\t")[0].split())
                    stream.write(line)
        counts["labels"] = len(given)
        if stage is not None:
            versions = {"generator": GENERATOR_VERSION, "simple-icd-10-cm": version("simple-icd-10-cm")}
            content = {"command": "prepare demo", "options": {**asdict(options), **versions}, "sources": []}
            write_provenance(stage, {**content, "counts": counts})
    return {"counts": counts, "sets": {}}


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
        found = []
        for place in source.sample(range(left), min(source.randint(2, 4), left)):
            for taken in sorted(chosen):
                place += taken <= place
            found.append(self.conditions[place])
        return found


def write_notes(options: DemoOptions) -> dict[str, Iterator[str]]:
    """Lines ``codes TAB note`` of each split; the same options always give the same lines.

    Raises:
        ConfigError: Fewer than one label, or more than there are codes to draw.
    """
    pool = _Pool(_conditions(options))
    if not 0 < options.labels <= len(pool):
        what = f"{options.labels:,} labels, but there are {len(pool):,} codes to draw from"
        raise ConfigError(what, where="labels", fix="ask for no more than these")
    return {split: _lines(pool, split, options) for split in DEMO_SPLITS}


def _lines(pool: _Pool, split: str, options: DemoOptions) -> Iterator[str]:
    source = random.Random(f"{options.seed} {split}")
    for _ in range(getattr(options, split)):
        chosen = _draw(pool, source)
        codes = " ".join(sorted(pool.conditions[place].code for place in chosen))
        yield f"{codes}\t{_note(chosen, pool, source)}\n"


def _conditions(options: DemoOptions) -> list[_Condition]:
    """The label set with its frequencies: leaves of each group's categories, in random order of frequency."""
    source = random.Random(f"{options.seed} conditions")
    by_category = []
    for group, known in PHRASES["groups"].items():
        for category in known["categories"]:
            leaves = [code for code in icd.get_descendants(category) if icd.is_leaf(code)] or [category]
            by_category.append([(code, group) for code in source.sample(leaves, len(leaves)) if code not in COMMON])
    # The common codes in their order; then one of each category in turn, so that every group is covered.
    rounds = max(map(len, by_category))
    more = [codes[place] for place in range(rounds) for codes in by_category if place < len(codes)]
    more = more[: max(0, options.labels - len(COMMON))]
    source.shuffle(more)
    pool = [*((code, known["group"]) for code, known in COMMON.items()), *more][: options.labels]
    made = []
    for rank, (code, group) in enumerate(pool, 1):
        weight, known = (rank + RANK_SHIFT) ** -options.exponent, COMMON.get(code)
        if known is None:
            made.append(_Condition(code, group, _terms(code), weight))
        else:
            made.append(_Condition(code, group, tuple(known["said"]), weight, known["kind"], known.get("sex")))
    return made


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
    told: dict[str, list[str]] = {heading: [] for heading in PHRASES["sections"]}
    conditions = [pool.conditions[place] for place in chosen]
    for condition in conditions:
        for _ in range(2 if source.random() < 0.3 else 1):
            _tell(told, PHRASES["present"][condition.kind], _said(condition, source), source)
        if source.random() < 0.5:
            _tell(told, PHRASES["hints"], source.choice(PHRASES["groups"][condition.group]["hints"]), source)
    for absent in pool.others(chosen, source):
        if absent.kind in PHRASES["absent"] and not any(absent.stands_apart(one) for one in conditions):
            _tell(told, PHRASES["absent"][absent.kind], _said(absent, source), source)
    sex = next((one.sex for one in conditions if one.sex), source.choice(("man", "woman")))
    opening = f"CHIEF COMPLAINT: {source.choice(PHRASES['symptoms'])}. {source.randint(55, 91)} year old {sex}."
    wanted = source.randint(170, 270)
    words = len(opening.split()) + sum(len(f"{name} {' '.join(facts)}".split()) for name, facts in told.items())
    filler = [(name, one) for name, sentences in PHRASES["filler"].items() for one in sentences]
    for heading, sentence in source.sample(filler, len(filler)):
        if words >= wanted:
            break
        a, b, c = source.randint(2, 8), source.randint(61, 88), source.randint(108, 148)
        told[heading].append(sentence.format(a=a, b=b, c=c))
        words += len(told[heading][-1].split())
    parts = [opening]
    for heading, facts in told.items():
        parts += [f"{heading}:", *source.sample(facts, len(facts))]
    return " ".join(" ".join(parts).split())


def _tell(told: dict[str, list[str]], templates: dict[str, list[str]], words: str, source: random.Random) -> None:
    """Add a sentence to one of the parts of a note that have sentences of this kind."""
    heading = source.choice(sorted(templates))
    sentence = source.choice(templates[heading]).format(words)
    told[heading].append(sentence[0].upper() + sentence[1:])


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
