"""CodiEsp-X with trained models: codes of a case, each with the places that its best passages name.

Diagnoses and procedures are scored together (:mod:`plant_plugin.evaluation.codiesp_x`), and come from models of their
own. So every model reads every case, also those that its own file lacks for want of a code.

Shapes: D cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.evaluation.codiesp_x import codiesp_x_counts, place_found, precision_recall_f1
from plant_plugin.model.passages import GAPS, EvidenceRule, passages
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.word_strength import word_strengths

SHARES = tuple(round(0.05 * step, 2) for step in range(1, 20))  # that are tried on validation


@dataclass(frozen=True)
class PredictedCode:
    """A code that a model predicts in a case.

    Attributes:
        case: Number of the case.
        code: The label.
        text: The case.
        words: (W, 2) where its words stand.
        strengths: Order -> (W,).
    """

    case: int
    code: str
    text: str = field(repr=False)
    words: npt.NDArray[np.int64] = field(repr=False)
    strengths: dict[str, npt.NDArray[np.float32]] = field(repr=False)

    def places(self, rule: EvidenceRule, most: int) -> Spans:
        """The best passages under a rule."""
        found = passages(self.text, self.words, self.strengths[str(rule.order)], rule)
        return [(one.start, one.end) for one in found[:most]]


def union_of_cases(
    files: Sequence[tuple[list[str], list[DocumentEvidence]]],
) -> tuple[list[str], list[DocumentEvidence]]:
    """Cases of several files as one list, each text once, with what coders marked in any of the files."""
    cases: dict[str, DocumentEvidence] = {}
    for texts, evidence in files:
        for text, marked in zip(texts, evidence, strict=True):
            own = cases.setdefault(text, {})
            for code, spans in marked.items():
                own[code] = [*own.get(code, []), *spans]
    return list(cases), list(cases.values())


def joined(evidence: Sequence[DocumentEvidence], within: int | None) -> Sequence[DocumentEvidence]:
    """Evidence whose neighbouring spans, at most so many characters apart, are one; as it is where ``within`` is None.

    For evidence files that do not say which spans are the parts of one mark, which the task counts from its first
    character to its last. Each span as a place by itself is easier to find than that, neighbours as one are harder.
    """
    if within is None:
        return evidence
    found: list[DocumentEvidence] = []
    for marked in evidence:
        found.append({})
        for code, spans in marked.items():
            places = found[-1].setdefault(code, [])
            for start, end in sorted(spans):
                if places and start - places[-1][1] <= within:
                    places[-1] = (places[-1][0], max(end, places[-1][1]))
                else:
                    places.append((start, end))
    return found


def predicted_codes(
    predictor: Predictor, texts: Sequence[str], threshold: float | str | None = None
) -> list[PredictedCode]:
    """The codes above the threshold in each case, with all strengths of its words.

    Args:
        predictor: The model.
        texts: The cases.
        threshold: As in :meth:`Predictor.predict`.

    Raises:
        ConfigError: A threshold that the model does not have, or a network that does not show its attention.
    """
    found = []
    for case, prediction in enumerate(predictor.stream(texts, threshold=threshold)):
        codes = [label.label for label in prediction.labels]
        columns = [predictor.column_of[code] for code in codes]
        words, strengths = word_strengths(predictor, texts[case], columns)
        for row, code in enumerate(codes):
            own = {order: values[row] for order, values in strengths.items()}
            found.append(PredictedCode(case, code, texts[case], words.spans, own))
    return found


def best_rule(predicted: Sequence[PredictedCode], marked: Sequence[DocumentEvidence], most: int) -> EvidenceRule:
    """The order, share and gap with which most codes are found in their place.

    Args:
        predicted: A model's codes in validation cases.
        marked: What coders marked in each case.
        most: Places of a code.
    """
    known = [one for one in predicted if one.code in marked[one.case]]
    orders = list(predicted[0].strengths) if predicted else []
    rules = [EvidenceRule(order, share, gap, None) for order in orders for share in SHARES for gap in GAPS]

    def found(rule: EvidenceRule) -> int:
        return sum(place_found(one.places(rule, most), marked[one.case][one.code]) for one in known)

    return max(rules, key=found, default=EvidenceRule("attention"))


def codiesp_x(
    predicted: Sequence[tuple[Sequence[PredictedCode], EvidenceRule]],
    marked: Sequence[DocumentEvidence],
    most: int,
) -> dict[str, tuple[float, float, float]]:
    """Precision, recall and F1 of several models' codes together, with 95 % intervals over cases, drawn 1,000 times.

    Args:
        predicted: Of each model its codes in the D cases, and the rule of its places.
        marked: What coders marked in each case.
        most: Places of a code; the measure does not charge for more, a reader would.
    """
    places: list[dict[str, Spans]] = [{} for _ in marked]
    for codes, rule in predicted:
        for one in codes:
            places[one.case].setdefault(one.code, []).extend(one.places(rule, most))
    counts = codiesp_x_counts(marked, places)
    draws = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=1000)
    drawn = np.array([precision_recall_f1(one) for one in draws @ counts])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0).tolist()
    means = precision_recall_f1(counts)
    return dict(zip(("precision", "recall", "F1"), zip(means, low, high, strict=True), strict=True))
