"""CodiEsp-X, the explainability task of CodiEsp: codes of a case, each with the place that says so.

    python benchmarks/experiments/codiesp_x.py DIAGNOSES_RUN PROCEDURES_RUN [--places 3] [--out FILE]

The rule: a pair of case and code is found where one of its predicted places holds one of the coders' places, and begins
at most ten characters before it and ends at most ten after it. A place in several parts counts as one from its first
character to its last. Precision divides by the distinct pairs that were predicted, recall by the distinct pairs of the
coders, over all cases together; so further places of a predicted code cost nothing.

Diagnoses and procedures are scored together and come from models of their own. So every model reads every case, also
those that its own file lacks for want of a code. Cases and evidence are those of the runs' test files. How places are
made of words is chosen on the validation cases, for each run: measure, share of the strongest word, and how far apart
words of a place may be.

Source: Miranda-Escalada et al. 2020, Overview of automatic clinical coding: annotations, guidelines, and solutions for
non-English clinical cases at CodiEsp track of eHealth CLEF 2020; github.com/TeMU-BSC/codiesp-evaluation-script.

Shapes: D cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from plant_plugin.commands import shared
from plant_plugin.commands.reading import marked_documents
from plant_plugin.data.evidence import read_marks
from plant_plugin.data.text import DocumentEvidence, DocumentMarks, Spans
from plant_plugin.model.passages import GAPS, EvidenceRule, passages
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.trained import with_unrefitted
from plant_plugin.model.word_strength import word_strengths

TOLERANCE = 10  # characters that a predicted place may have too many on either side
Places = Iterable[tuple[int, int]]
CaseCodes = Mapping[str, Places]  # code -> places, of one case
SHARES = tuple(round(0.05 * step, 2) for step in range(1, 20))  # that are tried on validation


def extents(marks: DocumentMarks) -> DocumentEvidence:
    """Return each mark as one span, from its first character to its last: what CodiEsp-X counts."""
    return {
        label: [(min(start for start, _ in mark), max(end for _, end in mark)) for mark in marked]
        for label, marked in marks.items()
    }


def place_found(predicted: Places, marked: Places) -> bool:
    """Whether one of the predicted places holds one of the marked ones, closely enough."""
    wanted = list(marked)
    return any(
        0 <= start - first <= TOLERANCE and 0 <= last - end <= TOLERANCE
        for first, last in predicted
        for start, end in wanted
    )


def codiesp_x_counts(marked: Sequence[CaseCodes], predicted: Sequence[CaseCodes]) -> npt.NDArray[np.int64]:
    """Codes found with their place, codes predicted, codes marked, of each case, (D, 3).

    Upper and lower case tell codes apart; a code that is predicted without a place does not count.
    """
    counts = []
    for own, found in zip(marked, predicted, strict=True):
        placed = {code: list(spans) for code, spans in found.items()}
        hits = sum(place_found(spans, own[code]) for code, spans in placed.items() if code in own)
        counts.append((hits, sum(bool(spans) for spans in placed.values()), len(own)))
    return np.array(counts, dtype=np.int64).reshape(-1, 3)


def precision_recall_f1(counts: npt.NDArray[np.number]) -> tuple[float, float, float]:
    """Of the summed counts of cases, (3,) or (D, 3); 0/0 = 0."""
    hits, predicted, marked = (float(value) for value in np.atleast_2d(counts).sum(axis=0))
    return hits / max(predicted, 1), hits / max(marked, 1), 2 * hits / max(predicted + marked, 1)


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


def score(
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


@click.command()
@click.argument("runs", type=shared.MODEL, nargs=-1, required=True, metavar="RUN_FOLDER…")
@shared.threshold_option()
@click.option("--places", type=shared.COUNT, default=3, show_default=True, help="At most so many of a code.")
@click.option("--out", type=shared.FILE, help="Write the numbers as JSON.")
@shared.loads_models(names=False)
def main(
    runs: tuple[Path, ...], threshold: float | str | None, places: int, out: Path | None, load: shared.Load
) -> None:
    """Score codes with their places, the runs together: one of the diagnoses, one of the procedures."""

    def marked_in(run: Path, split: str) -> tuple[list[str], list[DocumentEvidence]]:
        documents, path = marked_documents(run, split, out=out)
        return documents.texts, [extents(marks) for marks in read_marks(path, documents)]

    texts, marked = union_of_cases([marked_in(run, "test") for run in runs])
    predicted, rules = [], []
    for run in runs:
        predictor, unrefitted = with_unrefitted(load, run)
        own_texts, own_marked = marked_in(run, "val")
        rule = best_rule(predicted_codes(unrefitted, own_texts, threshold), own_marked, places)
        predicted.append((predicted_codes(predictor, texts, threshold), rule))
        rules.append({"order": rule.order, "share": rule.share, "gap": rule.gap})
        of_words = f"words by {rule.order}, from {rule.share:.2f} of the strongest, gap {rule.gap}"
        click.echo(f"{run.name}: {of_words}", err=True)
    measures = score(predicted, marked, places)
    for name, (mean, low, high) in measures.items():
        click.echo(f"{name:<10}{100 * mean:>6.1f} [{100 * low:.1f} {100 * high:.1f}]")
    click.echo(f"in %, over {len(texts):,} cases, [95 % interval]", err=True)
    if out is not None:
        shared.write(out, shared.as_json({"cases": len(texts), "rules": rules, **measures}))


if __name__ == "__main__":
    main()
