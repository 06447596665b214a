"""Plausibility: do a model's explanations name the words that coders marked?

:mod:`plant_plugin.evaluation.plausibility` says what is measured. Shares (thresholds) come from the validation
documents' evidence, one for each order of the words, and never from the documents that are measured.

Shapes: W words of a document, P pairs of document and label with evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import DocumentEvidence
from plant_plugin.errors import DataError
from plant_plugin.evaluation.names import BINS
from plant_plugin.evaluation.plausibility import MEASURES, OrderedPairs, bootstrap_means, marked_words
from plant_plugin.model.passages import GAPS, EvidenceRule, strong_runs
from plant_plugin.model.trained import Floats, Places, ReadyModel
from plant_plugin.model.word_strength import EXPLAINED, RANDOM, word_strengths

Interval = tuple[float, float, float]  # mean, lower and upper end of its 95 % interval
Marks = npt.NDArray[np.bool_]


@dataclass
class MarkedPairs:
    """Pairs of document and label whose words coders marked."""

    documents: list[int] = field(default_factory=list)  # (P,) number of each pair's document
    columns: list[int] = field(default_factory=list)  # (P,) its label
    marked: list[Marks] = field(default_factory=list, repr=False)  # (W,) of each pair
    strengths: dict[str, list[Floats]] = field(default_factory=dict, repr=False)  # order -> (W,) of each pair
    unknown: int = 0  # pairs with evidence whose label the model does not know
    wordless: int = 0  # pairs whose spans hold no word

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True)
class Plausibility:
    """The agreement of one order of the words with the coders."""

    order: str  # see :mod:`plant_plugin.model.word_strength`
    shares: tuple[float, ...]  # of each run, chosen on validation: words at or above it, of the strongest, are named
    measures: dict[str, Interval]  # name (``evaluation.plausibility.MEASURES``) -> mean over pairs
    bins: dict[str, dict[str, Interval]]  # bin of training documents -> over its labels' pairs; empty without counts
    # Mean share of the words named, and mean recall, at every share of the strongest that is tried.
    curve: list[tuple[float, float]] = field(repr=False)


def marked_pairs(
    predictor: ReadyModel, texts: Sequence[str], evidence: Sequence[DocumentEvidence], *, seed: int = 0
) -> MarkedPairs:
    """Collect the strengths of all words of documents that have evidence, for the labels that have it.

    ``seed`` is that of the random order, which any other has to beat.

    Raises:
        ConfigError: The network does not show its attention.
        DataError: No document has evidence for a label that the model knows.
    """
    random, pairs = np.random.default_rng(seed), MarkedPairs()
    for number, (text, marked) in enumerate(zip(texts, evidence, strict=True)):
        known = {label: predictor.column_of[label] for label in marked if label in predictor.column_of}
        pairs.unknown += len(marked) - len(known)
        if not known:
            continue
        words, strengths = word_strengths(predictor, text, list(known.values()))
        strengths[RANDOM] = random.random((len(known), len(words)), np.float32)
        for row, (label, column) in enumerate(known.items()):
            named = marked_words(words.spans, marked[label])
            if not named.any():
                pairs.wordless += 1
                continue
            pairs.documents.append(number)
            pairs.columns.append(column)
            pairs.marked.append(named)
            for order, values in strengths.items():
                pairs.strengths.setdefault(order, []).append(values[row])
    if not len(pairs):
        fix = "give the evidence of documents like those that the model was trained on"
        raise DataError("no document has evidence for a label that the model knows", fix=fix)
    return pairs


def plausibility(
    runs: Sequence[tuple[MarkedPairs, MarkedPairs]],
    train_counts: Places | None = None,
    *,
    seed: int = 0,
) -> list[Plausibility]:
    """Measure every order, each with the share that is best on the validation pairs.

    Args:
        runs: Of one or more runs of a system (seeds), each: pairs of the test documents, and of the validation
            documents by the same model. Values of a pair are means over the runs.
        train_counts: Training documents of each label (L,), for the bins; None: no bins.
        seed: Of the bootstrap.

    Raises:
        DataError: The runs do not have the same pairs.
    """
    first, _ = runs[0]
    if any((pairs.documents, pairs.columns) != (first.documents, first.columns) for pairs, _ in runs):
        raise DataError("the runs know different labels", fix="give runs of one system on the same files")
    documents, in_bin = np.array(first.documents), _bins(first.columns, train_counts)
    results = []
    for order in first.strengths:
        measured, validated = (
            [OrderedPairs(pairs.strengths[order], pairs.marked) for pairs in split] for split in zip(*runs, strict=True)
        )
        shares = tuple(ordered.best_share() for ordered in validated)
        mean = np.mean([ordered.values(share) for ordered, share in zip(measured, shares, strict=True)], axis=0)
        bins = {name: _intervals(mean[chosen], documents[chosen], seed) for name, chosen in in_bin.items()}
        curve = [(float(x), float(y)) for x, y in np.mean([ordered.curve() for ordered in measured], axis=0)]
        results.append(Plausibility(order, shares, _intervals(mean, documents, seed), bins, curve))
    return results


def chosen_rule(validation: MarkedPairs) -> EvidenceRule:
    """Choose order, share and gap of predicted evidence whose passages have the highest mean F1 here.

    Raises:
        DataError: The model offers no order of the words that explanations show.
    """
    f1_of: dict[EvidenceRule, float] = {}
    for order in filter(validation.strengths.__contains__, EXPLAINED):
        share = OrderedPairs(validation.strengths[order], validation.marked).best_share()
        for rule in (EvidenceRule(order, share, gap, None) for gap in GAPS):
            pairs = zip(validation.strengths[order], validation.marked, strict=True)
            f1_of[rule] = float(np.mean([_run_f1(strength, marked, rule) for strength, marked in pairs]))
    if not f1_of:
        raise DataError("the model offers no order of the words that explanations show", fix="train a network")
    return max(f1_of, key=f1_of.__getitem__)


def _run_f1(strength: Floats, marked: Marks, rule: EvidenceRule) -> float:
    """Return F1 of the words of whole passages, those between strong words included."""
    within = np.zeros(len(marked), dtype=bool)
    for run in strong_runs(strength, rule):
        within[run[0] : run[-1] + 1] = True
    return float(2 * (within & marked).sum() / (within.sum() + marked.sum()))


def _bins(columns: Sequence[int], train_counts: Places | None) -> dict[str, Marks]:
    """Return bin -> which pairs (P,) are of its labels; bins without a pair are left out."""
    if train_counts is None:
        return {}
    counts = train_counts[np.array(columns)]
    bins = {
        name: (counts >= low) & (counts <= (np.inf if high is None else high)) for name, (low, high) in BINS.items()
    }
    return {name: in_bin for name, in_bin in bins.items() if in_bin.any()}


def _intervals(values: npt.NDArray[np.float64], documents: Places, seed: int) -> dict[str, Interval]:
    means, low, high = bootstrap_means(values, documents, seed=seed).tolist()
    return dict(zip(MEASURES, zip(means, low, high, strict=True), strict=True))
