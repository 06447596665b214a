"""Metrics of weighted documents, and with them: is a system better than another on these documents?

Every metric here is made of sums over documents: ranked ones are one sum divided by another, thresholded ones follow
from three counts of each label. So the numbers of a resample need one product of its weights with stored values, and no
score is looked at again. The AUCs compare documents with each other: a resample weighs both sides (``roc``). When two
systems exchange documents, a document brings the places of its true labels among the false ones of its own system.

Three answers, paired document by document: *paired bootstrap*, both systems on the same documents drawn with
replacement; *approximate randomisation*, the systems' outputs exchanged on a random half of the documents;
*Wilcoxon signed-rank*, over documents, or over labels for the macro metrics; and as PLANT's paper has it (appendix F),
for every metric, over what it is in each of ten parts of the documents.

A resample holds fewer different documents, so that macro metrics are smaller in it than they are over all: the interval
is that of the resampled gains moved by their median's distance from the observed gain, which so lies in it.

Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), median bias and percentile interval; Noreen,
Computer-Intensive Methods for Testing Hypotheses (1989), approximate randomisation with (r + 1) / (R + 1);
scipy.stats.wilcoxon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.classification import LabelCounts, classified, labels_in_bins
from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.propensity import weights_for
from plant_plugin.evaluation.ranking import contributions, divided
from plant_plugin.evaluation.roc import RocSums

Floats = npt.NDArray[np.float64]
WHOLE_RANKING = {"MAP": "average_precision", "MAP-gold": "gold_precision"}  # family -> what is kept of each document
ROUNDING = 1e-12  # gains this close count as equal
FOLDS = 10  # of the test documents, as in PLANT's paper
BLOCK_ELEMENTS = 2_000_000  # counts of labels times weightings in memory at a time


def computable(metric: Metric, documents: PerDocument) -> bool:
    """Whether a metric follows from what is kept of the documents; the loss never does."""
    if documents.train_counts is None and metric.needs_training_counts:
        return False
    if metric.is_added:
        return metric.canonical in documents.added
    if metric.k:
        return metric.k <= documents.top.shape[1] and (bool(documents.num_train) or not metric.propensity_scored)
    if metric.threshold is not None:
        return metric.threshold in documents.predicted
    if metric.needs_all_scores:
        return documents.roc is not None and (metric.family == "AUC-macro" or documents.roc.bins is not None)
    return metric.family in WHOLE_RANKING and getattr(documents, WHOLE_RANKING[metric.family]) is not None


class DocumentSums:
    """Metrics for which ``computable`` holds, of one result, under any weighting of its documents.

    Weights are whole numbers: how often each document counts.
    """

    def __init__(self, documents: PerDocument, metrics: Sequence[Metric]) -> None:
        self.metrics = list(metrics)
        self.num_documents, self.num_labels = documents.truth.shape
        self._in_bin = labels_in_bins(self.num_labels, documents.train_counts)
        self._quotients = [metric for metric in metrics if metric.threshold is None]
        if any(metric.needs_all_scores for metric in metrics):
            assert documents.roc is not None  # `computable` was asked
            self._roc = RocSums(documents.roc, self.num_documents)
        columns = self._columns(documents)
        empty = np.empty((self.num_documents, 0))
        self._above, self._below = (np.column_stack([empty, *(c[side] for c in columns)]) for side in (0, 1))  # (N, M)
        self._thresholds = sorted({metric.threshold for metric in metrics if metric.threshold is not None})
        predicted = [documents.predicted[name] for name in self._thresholds]
        pairs = [documents.truth, *predicted, *(own.multiply(documents.truth) for own in predicted)]
        self._pairs = sp.csr_matrix(sp.vstack([own.T for own in pairs]))  # true, predicted, hit: ((1 + 2T) L, N)

    def _columns(self, documents: PerDocument) -> list[tuple[Floats, Floats]]:
        """What each document adds above and below the line of every quotient, (N,) each."""
        ranked = {}
        if any(metric.k and not metric.is_added for metric in self._quotients):
            given = documents.train_counts, documents.num_train, documents.propensity
            ranked = contributions(documents.top, documents.truth, weights_for(self._quotients, *given))
        found = []
        for metric in self._quotients:
            if metric.is_added:
                above, below = documents.added[metric.canonical].T
            elif metric.k:
                above, below = (side[:, metric.k - 1] for side in ranked[metric.family])
            elif metric.family == "AUC-macro":
                above, below = self._roc.macro_column(self._in_bin[metric.bin])
            elif metric.family == "AUC-micro":
                above, below = self._roc.micro_column()
            else:
                precision = np.asarray(getattr(documents, WHOLE_RANKING[metric.family]), dtype=np.float64)
                above, below = np.nan_to_num(precision), ~np.isnan(precision)
            found.append((above, below))
        return found

    def sums(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over documents that count as often as B weightings (B, N) say; they add up like the documents do.

        Returns:
            What stands above the line of the M quotients and what below it, (B, M) each; documents of each label, true,
            predicted at each of T thresholds, and both, (1 + 2T, L, B).
        """
        counts = self._pairs @ np.ascontiguousarray(weights.T)
        return weights @ self._above, weights @ self._below, counts.reshape(-1, self.num_labels, len(weights))

    def values(self, above: Floats, below: Floats, counts: Floats) -> Floats:
        """The metrics from sums, (B, number of metrics), in the order they were asked for; 0/0 = 0.

        The areas are against the false documents of each one's own result, all counting once.
        """
        quotients = dict(zip(self._quotients, divided(above, below).T, strict=True))
        found = [
            quotients[metric] if metric in quotients else classified(metric.family, self._counts(metric, counts))
            for metric in self.metrics
        ]
        return np.nan_to_num(np.stack(found, axis=1))

    def resampled(self, weights: Floats) -> Floats:
        """The metrics of documents that count as often as B weightings (B, N) say, false documents of areas too."""
        found = self.values(*self.sums(weights))
        for column, metric in enumerate(self.metrics):
            if metric.family == "AUC-macro":
                found[:, column] = self._roc.macro(weights, self._in_bin[metric.bin])
            elif metric.family == "AUC-micro":
                found[:, column] = self._roc.micro(weights)
        return found

    def _counts(self, metric: Metric, counts: Floats) -> LabelCounts:
        place = 1 + self._thresholds.index(str(metric.threshold))
        hit, predicted = counts[place + len(self._thresholds)], counts[place]
        return LabelCounts(hit, predicted, counts[0]).of(self._in_bin[metric.bin])

    def per_unit(self, metric: Metric) -> Floats | None:
        """Values whose mean the metric is (up to a factor), for a signed-rank test; None where there are none.

        Of documents or, for macro metrics, of labels. What propensity-scored metrics have below the line is the same
        for every system.
        """
        if metric.family == "AUC-macro":
            labels = self._roc.parts.labels
            by_label = np.argsort(labels)  # labels that were never ranked stand at the end of the parts
            return self._roc.areas[by_label][self._in_bin[metric.bin][labels[by_label]]]
        if metric.family.startswith("Micro") or metric.family in ("AUC-micro", "Macro-F1-caml"):
            return None
        if metric.threshold is None:
            return self._above[:, self._quotients.index(metric)]
        counts = self._counts(metric, self.sums(np.ones((1, self.num_documents)))[2][..., 0])
        if metric.family == "Macro-F1-present":
            counts = counts.of(counts.true > 0)
        return counts.ratios(metric.family.split("-")[1])


@dataclass(frozen=True)
class Comparison:
    """One metric of a system against a baseline; p-values are two-sided."""

    gain: float  # system minus baseline, each a mean over its seeds
    low: float  # ends of the bootstrap interval of the gain
    high: float
    randomisation: float  # p
    wilcoxon: float | None  # p; None where the metric is no mean over documents or labels
    folds: float  # p of Wilcoxon's test over ten parts of the documents; every part a random one
    significant: bool  # the randomisation test passes at 1 - level, and the interval lies on one side of 0


def compare_documents(
    system: Sequence[DocumentSums],
    baseline: Sequence[DocumentSums],
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Comparison]:
    """Test every metric of a system against a baseline on the same documents.

    Args:
        system: Its seeds; each of the same metrics, documents and label columns as all others here.
        baseline: The baseline's seeds. A metric of several seeds is the mean of theirs, in each resample too. For the
            randomisation, as many seeds of either side are paired as both have, in the order given.
        resamples: Of the bootstrap and of the randomisation, at least 1.
        seed: Of the draws.
        level: Of the interval; 1 - level is that of the test.

    Returns:
        Metric's name -> comparison.
    """
    metrics, number = system[0].metrics, system[0].num_documents
    observed = _mean(system, np.ones((1, number)))[0] - _mean(baseline, np.ones((1, number)))[0]
    pairs = list(zip(system, baseline, strict=False))
    paired = np.mean([_exchange_gain(pair, np.zeros((1, number))) for pair in pairs], axis=0)[0]
    generator = np.random.default_rng(seed)
    size = max(1, BLOCK_ELEMENTS // max(number, system[0].num_labels))
    gains, exceeding = [], np.zeros(len(metrics))
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        drawn = generator.multinomial(number, np.full(number, 1.0 / number), size=block).astype(np.float64)
        gains.append(_mean(system, drawn) - _mean(baseline, drawn))
        exchanged = generator.integers(0, 2, size=(block, number)).astype(np.float64)
        by_chance = np.mean([_exchange_gain(pair, exchanged) for pair in pairs], axis=0)
        exceeding += (np.abs(by_chance) >= np.abs(paired) - ROUNDING).sum(axis=0)
    tail = (1.0 - level) / 2.0
    drawn_gains = np.concatenate(gains)
    low, middle, high = np.quantile(drawn_gains, [tail, 0.5, 1.0 - tail], axis=0)
    low, high = observed - (middle - low), observed + (high - middle)
    p_values = (exceeding + 1.0) / (resamples + 1.0)
    parts = np.eye(min(FOLDS, number))[generator.permutation(number) % min(FOLDS, number)].T
    gain_of_part = _mean(system, parts) - _mean(baseline, parts)
    return {
        metric.name: Comparison(
            float(observed[column]),
            float(low[column]),
            float(high[column]),
            float(p_values[column]),
            _wilcoxon(system, baseline, metric),
            _signed_rank(gain_of_part[:, column], "auto"),
            bool(p_values[column] < 1.0 - level and (low[column] > 0 or high[column] < 0)),
        )
        for column, metric in enumerate(metrics)
    }


def _mean(runs: Sequence[DocumentSums], weights: Floats) -> Floats:
    """Metrics under each weighting, mean over seeds, (B, metrics)."""
    return np.asarray(np.mean([run.resampled(weights) for run in runs], axis=0))


def _exchange_gain(pair: tuple[DocumentSums, DocumentSums], exchanged: Floats) -> Floats:
    """The gain of the first over the second after the marked documents (B, N) changed sides."""
    first, second = pair
    kept = 1.0 - exchanged
    one = [ours + theirs for ours, theirs in zip(first.sums(kept), second.sums(exchanged), strict=True)]
    other = [ours + theirs for ours, theirs in zip(first.sums(exchanged), second.sums(kept), strict=True)]
    return first.values(*one) - second.values(*other)


def _wilcoxon(system: Sequence[DocumentSums], baseline: Sequence[DocumentSums], metric: Metric) -> float | None:
    ours, theirs = ([run.per_unit(metric) for run in runs] for runs in (system, baseline))
    if any(values is None for values in (*ours, *theirs)):
        return None
    difference = np.mean(np.stack(ours), axis=0) - np.mean(np.stack(theirs), axis=0)  # type: ignore[arg-type]
    return _signed_rank(difference, "approx")


def _signed_rank(difference: Floats, method: Literal["approx", "auto"]) -> float:
    """P of Wilcoxon's test; exact (``auto``) for few differences of which none are equal."""
    from scipy.stats import wilcoxon

    # In whole units: what differs by the order of a sum alone, which processors choose, is a tie and shares a rank.
    difference = np.rint(difference / ROUNDING)
    return float(wilcoxon(difference, method=method).pvalue) if difference.any() else 1.0
