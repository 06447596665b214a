"""Predicted evidence: the stretches of a document of W words that a model names for a label."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le

from plant_plugin.evaluation.plausibility import shares_of_strongest
from plant_plugin.files import read_json, write_json
from plant_plugin.model.manifest import EVIDENCE_THRESHOLD, renew

PASSAGE_WORDS, GAP = 20, 3  # without a chosen rule: the 20 strongest words, joined where they are at most 3 apart
FAINT = 0.2  # and none below this share of the strongest: chosen on validation cases of CodiEsp (benchmarks/TRIALS.md)
GAPS = (1, 2, 3, 4)  # that are tried on validation; 1: neighbours only
CONTEXT = 6  # words shown before and after a passage
Strength = npt.NDArray[np.floating]


@dataclass(frozen=True)
class EvidenceRule:
    """The rule by which words make passages; ``evidence_threshold.json`` holds one."""

    order: str | None = None  # that says how strong a word is; None: contributions, or attention where there are none
    share: Annotated[float, Ge(0), Le(1)] = FAINT  # words below this share of the strongest word are left out
    gap: Annotated[int, Ge(0)] = GAP  # words that are at most so far apart are joined, with all words between them
    words: Annotated[int, Ge(1)] | None = PASSAGE_WORDS  # at most so many words, the strongest; None: all


@dataclass(frozen=True)
class Passage:
    """A stretch of the document, from its first character to after its last, that speaks for a label."""

    start: int
    end: int
    score: float  # sum over its strong words, of contributions (logits) or of attention where there are none
    before: str = field(repr=False)  # a few words in front of it
    after: str = field(repr=False)  # a few words after it


def read_rule(folder: Path) -> EvidenceRule:
    """Read the rule that :func:`write_rule` left in a run's folder; the default where there is none.

    Raises:
        CheckpointError: The file is torn.
    """
    path = folder / EVIDENCE_THRESHOLD
    if not path.is_file():
        return EvidenceRule()
    fix = "remove it, or write it anew with `plant plausibility RUN_FOLDER --write-threshold`"
    return read_json(path, EvidenceRule, what="a rule for evidence", fix=fix)


def write_rule(folder: Path, rule: EvidenceRule) -> Path:
    """Keep a rule that was chosen on validation documents in the run's folder; returns the file."""
    path = folder / EVIDENCE_THRESHOLD
    write_json(path, asdict(rule))
    renew(folder, EVIDENCE_THRESHOLD)
    return path


def strong_runs(strength: Strength, rule: EvidenceRule) -> list[npt.NDArray[np.int64]]:
    """Return the places of strong words, those of one run together, in the order of the text; ``strength`` (W,)."""
    share = shares_of_strongest(strength)
    strong = np.flatnonzero((share >= rule.share) & (share > 0))
    if rule.words is not None:
        strong = np.sort(strong[np.argsort(-strength[strong], kind="stable")[: rule.words]])
    return np.split(strong, np.flatnonzero(np.diff(strong) > rule.gap) + 1) if len(strong) else []


def passages(
    text: str,
    spans: npt.NDArray[np.int64],
    strength: Strength,
    rule: EvidenceRule,
    score: Strength | None = None,
) -> list[Passage]:
    """Return the passages of a text whose words are at ``spans`` (W, 2), the best first.

    ``strength`` (W,) goes by the rule's measure; a passage's score sums ``score`` (W,), else the strength.
    """
    named = []
    for run in strong_runs(strength, rule):
        start, end = int(spans[run[0], 0]), int(spans[run[-1], 1])
        before = int(spans[max(0, run[0] - CONTEXT), 0])
        after = int(spans[min(len(spans) - 1, run[-1] + CONTEXT), 1])
        total = float((strength if score is None else score)[run].sum())
        named.append(Passage(start, end, total, text[before:start], text[end:after]))
    return sorted(named, key=lambda passage: -passage.score)
