"""Figures of a team: how far it has come, how long it takes, how coders agree with each other and the model.

Agreement is on "the document has the label", over the labels of a document that the model suggested or one of the two
gave: over all labels of a model nearly everything would be an agreed no. Its share, F1 of the labels that the two gave
(2 · both / (first + second), which needs no agreed no) and Cohen's κ (Cohen 1960, scikit-learn's) stand side by side: κ
takes off what chance would agree on, and where nearly all labels are given by both it is near 0 or below.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from typing_extensions import TypedDict

from plant_plugin.serving.desk.people import MODEL, Coder
from plant_plugin.serving.desk.ranked import SamePrincipal, same_principals
from plant_plugin.serving.desk.store import Desk, gives
from plant_plugin.serving.desk.tables import OPEN


class Pair(TypedDict):
    """Two coders, or a coder and the model."""

    first: str
    second: str
    documents: int  # that both have finished
    decisions: int  # labels of these documents that are compared
    agreed: int  # of these, on which both said the same
    percent: float | None  # agreed of decisions; None: nothing is shared
    first_gave: int
    second_gave: int
    both_gave: int
    f1: float | None  # percent, of what they gave; None: neither gave a label
    kappa: float | None  # None: both always said the same one thing, or nothing is shared


class OfCoder(TypedDict):
    """The work of a coder."""

    coder: str
    role: str
    documents: int  # finished
    seconds: float | None  # median from opening a document to finishing it


class OfCode(TypedDict):
    """A label, and how the model's suggestions of it were taken; suggestions below the threshold do not count."""

    label: str
    suggested: int
    accepted: int
    rejected: int  # by a decision; the rest was passed over
    added: int  # where the model did not suggest it


class Figures(TypedDict):
    """The content of ``plant desk agreement`` and of the page of figures; no text and no name of a document."""

    documents: int
    finished: int  # by somebody
    coders: list[OfCoder]
    pairs: list[Pair]
    principals: list[SamePrincipal]
    codes: list[OfCode]


@dataclass
class _Said:
    """Yes and no of two on the same labels."""

    documents: int = 0
    first: list[bool] = field(default_factory=list)
    second: list[bool] = field(default_factory=list)

    def add(self, first: set[str], second: set[str], suggested: set[str]) -> None:
        labels = sorted(first | second | suggested)
        self.documents += 1
        self.first += [label in first for label in labels]
        self.second += [label in second for label in labels]

    def pair(self, first: str, second: str) -> Pair:
        from sklearn.metrics import cohen_kappa_score

        defined = len({*self.first, *self.second}) == 2
        answers = Counter(zip(self.first, self.second, strict=True))
        both, agreed = answers[True, True], answers[True, True] + answers[False, False]
        gave = both + answers[True, False], both + answers[False, True]
        return Pair(
            first=first,
            second=second,
            documents=self.documents,
            decisions=len(self.first),
            agreed=agreed,
            percent=_percent(agreed, len(self.first)),
            first_gave=gave[0],
            second_gave=gave[1],
            both_gave=both,
            f1=_percent(2 * both, sum(gave)),
            kappa=round(float(cohen_kappa_score(self.first, self.second)), 4) if defined else None,
        )


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def figures(desk: Desk) -> Figures:
    """Count everything that was finished."""
    people, suggested, finished = desk.people.all(), desk.suggested(), list(desk.finished())
    said: dict[tuple[int, int], _Said] = {}
    model: dict[int, _Said] = {}
    codes: dict[str, OfCode] = {}
    for document, _, by in finished:
        yes = {coder: {each.label for each in decisions.values() if gives(each)} for coder, _, decisions in by}
        seen: set[str] = set()
        for coder, name, decisions in by:
            shown = {each["label"]: each["predicted"] for each in suggested.get((document, name), [])}
            predicted = {label for label, above in shown.items() if above}
            seen |= {*shown}
            if shown:
                model.setdefault(coder, _Said()).add(yes[coder], predicted, {*shown})
                _count(codes, predicted, yes[coder], {*decisions} - yes[coder])
        for first, second in itertools.combinations(sorted(yes), 2):
            said.setdefault((first, second), _Said()).add(yes[first], yes[second], seen)
    names = {coder.id: coder.name for coder in people}
    pairs = [answers.pair(names[first], names[second]) for (first, second), answers in sorted(said.items())]
    pairs += [answers.pair(names[coder], MODEL) for coder, answers in sorted(model.items())]
    return {
        "documents": desk.size(),
        "finished": len(finished),
        "coders": _coders(desk, people, Counter(coder for _, _, by in finished for coder, _, _ in by)),
        "pairs": pairs,
        "principals": same_principals(desk),
        "codes": sorted(codes.values(), key=lambda code: (-code["suggested"] - code["added"], code["label"])),
    }


def figures_apart(path: Path) -> Figures:
    """Count by another process: seconds of Python hold nobody in this one up."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        return apart.submit(_figures_of, path).result()


def _figures_of(path: Path) -> Figures:
    with closing(Desk(path)) as desk:
        return figures(desk)


def _count(codes: dict[str, OfCode], predicted: set[str], yes: set[str], no: set[str]) -> None:
    for label in predicted | yes:
        count = codes.setdefault(label, OfCode(label=label, suggested=0, accepted=0, rejected=0, added=0))
        count["suggested"] += label in predicted
        count["accepted"] += label in predicted and label in yes
        count["rejected"] += label in predicted and label in no
        count["added"] += label not in predicted


def _coders(desk: Desk, people: list[Coder], finished: Counter[int]) -> list[OfCoder]:
    begun: dict[tuple[int, int], float] = {}
    took: dict[int, list[float]] = {}
    for coder, document, at, kind in desk.times():
        if kind == OPEN:
            begun.setdefault((coder, document), at)
        elif (start := begun.pop((coder, document), None)) is not None:
            took.setdefault(coder, []).append(at - start)
    return [
        {
            "coder": coder.name,
            "role": coder.role,
            "documents": finished[coder.id],
            "seconds": round(statistics.median(took[coder.id]), 1) if coder.id in took else None,
        }
        for coder in people
    ]
