"""Metrics of weighted documents, and with them: is a system better than another on these documents?

Every metric here is made of sums over documents: ranked ones are one sum divided by another, thresholded ones follow
from three counts of each label. So the numbers of a resample need one product of its weights with stored values, and no
score is looked at again. The AUCs compare documents with each other, so they are not resampled.

Three answers, paired seed by seed and document by document: *paired bootstrap*, both systems on the same documents
drawn with replacement, from which ``verdict.py`` makes the interval; *approximate randomisation*, the systems' outputs
exchanged on a random half of the documents; *Wilcoxon signed-rank*, over documents, or over labels for the macro
metrics; and as PLANT's paper has it (appendix F), for every metric, over what it is in each of ten parts of the
documents.

A resample holds fewer different documents, so that macro metrics are smaller in it than they are over all: the interval
is that of the resampled gains moved by their median's distance from the observed gain, which so lies in it.

Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), median bias and percentile interval; Noreen,
Computer-Intensive Methods for Testing Hypotheses (1989), approximate randomisation with (r + 1) / (R + 1);
scipy.stats.wilcoxon.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from typing_extensions import override

from plant_plugin.evaluation.classification import LabelCounts, classified, labels_in_bins
from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.propensity import weights_for
from plant_plugin.evaluation.ranking import contributions, divided
from plant_plugin.evaluation.verdict import Comparison, interval

Floats = npt.NDArray[np.float64]
WHOLE_RANKING = {"MAP": "average_precision", "MAP-gold": "gold_precision"}  # family -> what is kept of each document
ROUNDING = 1e-12  # gains this close count as equal
FOLDS = 10  # of the test documents, as in PLANT's paper
BLOCK_ELEMENTS = 2_000_000  # labels (or documents) times weightings that are drawn at a time
PART_ELEMENTS = 100_000  # of which so many are computed at a time: their counts stay in a processor's cache


def computable(metric: Metric, documents: PerDocument) -> bool:
    """Tell whether a metric follows from what is kept of the documents; the AUCs and the loss never do."""
    if documents.train_counts is None and metric.needs_training_counts:
        return False
    if metric.is_added:
        return metric.canonical in documents.added
    if metric.k:
        return metric.k <= documents.top.shape[1] and (bool(documents.num_train) or not metric.propensity_scored)
    if metric.threshold is not None:
        return metric.threshold in documents.predicted
    return metric.family in WHOLE_RANKING and getattr(documents, WHOLE_RANKING[metric.family]) is not None


class WeightedCounts(LabelCounts):
    """Counts under weightings, whose ratios are computed once: several metrics need the same."""

    @override
    def ratios(self, kind: str) -> Floats:
        if kind not in vars(self):
            vars(self)[kind] = super().ratios(kind)
        return vars(self)[kind]


@dataclass(frozen=True, eq=False)
class Additions:
    """Additions of each of N documents to the sums that M quotients and the counts at T thresholds are made of."""

    above: Floats  # the line of each quotient, (N, M)
    below: Floats  # (N, M)
    pairs: sp.csr_matrix  # labels that are true, predicted, and both: ((1 + 2T) L, N)

    def sums(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Add up documents that count as often as B weightings (B, N) say: (B, M) twice, and ((1 + 2T) L, B)."""
        return weights @ self.above, weights @ self.below, self.pairs @ np.ascontiguousarray(weights.T)

    def minus(self, other: Additions) -> Additions:
        """Return how much more each document adds here."""
        return Additions(self.above - other.above, self.below - other.below, self.pairs - other.pairs)


@dataclass(frozen=True, eq=False)
class Draws:
    """Documents for every resample: all comparisons of as many documents and labels have the same."""

    often: npt.NDArray[np.uint16]  # (R, N) of the bootstrap: how often each document is drawn
    exchanged: npt.NDArray[np.bool_]  # (R, N) of the randomisation
    parts: Floats  # (10, N) which documents are in each of the ten parts


@functools.lru_cache(maxsize=1)
def draw(number: int, num_labels: int, resamples: int, seed: int) -> Draws:
    """Draw, in blocks of both kinds in turn."""
    generator = np.random.default_rng(seed)
    size = max(1, BLOCK_ELEMENTS // max(number, num_labels))
    often, exchanged = [], []
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        drawn = generator.multinomial(number, np.full(number, 1.0 / number), size=block)
        often.append(drawn.astype(np.min_scalar_type(number)))
        exchanged.append(generator.integers(0, 2, size=(block, number)).astype(bool))
    folds = min(FOLDS, number)
    parts = np.eye(folds)[generator.permutation(number) % folds].T
    return Draws(np.concatenate(often), np.concatenate(exchanged), parts)


def in_parts(weights: Floats | npt.NDArray[np.bool_], num_labels: int) -> Iterator[Floats]:
    """Yield some of the weightings (B, N) at a time."""
    size = max(1, PART_ELEMENTS // num_labels)
    for start in range(0, len(weights), size):
        yield weights[start : start + size].astype(np.float64)


class DocumentSums:
    """Metrics for which ``computable`` holds, of one result, under any weighting of its documents.

    Weights are whole numbers: how often each document counts.
    """

    def __init__(self, documents: PerDocument, metrics: Sequence[Metric]) -> None:
        self.metrics = list(metrics)
        self.num_documents, self.num_labels = documents.truth.shape
        self._in_bin = labels_in_bins(self.num_labels, documents.train_counts)
        self._quotients = [metric for metric in metrics if metric.threshold is None]
        columns = self._columns(documents)
        empty = np.empty((self.num_documents, 0))
        above, below = (np.column_stack([empty, *(c[side] for c in columns)]) for side in (0, 1))
        self._thresholds = sorted({metric.threshold for metric in metrics if metric.threshold is not None})
        predicted = [documents.predicted[name] for name in self._thresholds]
        pairs = [documents.truth, *predicted, *(pairs_at.multiply(documents.truth) for pairs_at in predicted)]
        stacked = sp.csr_matrix(sp.vstack([pairs_at.T for pairs_at in pairs]), dtype=np.float64)
        self.additions = Additions(above, below, stacked)
        self._of_draws: tuple[Draws, Floats] | None = None

    def _columns(self, documents: PerDocument) -> list[tuple[Floats, Floats]]:
        """Return what each document adds above and below the line of every quotient, (N,) each."""
        ranked = {}
        if any(metric.k and not metric.is_added for metric in self._quotients):
            counts = documents.train_counts, documents.num_train, documents.propensity
            ranked = contributions(documents.top, documents.truth, weights_for(self._quotients, *counts))
        columns = []
        for metric in self._quotients:
            if metric.is_added:
                above, below = documents.added[metric.canonical].T
            elif metric.k:
                above, below = (side[:, metric.k - 1] for side in ranked[metric.family])
            else:
                precision = np.asarray(getattr(documents, WHOLE_RANKING[metric.family]), dtype=np.float64)
                above, below = np.nan_to_num(precision), ~np.isnan(precision)
            columns.append((above, below))
        return columns

    def values(self, above: Floats, below: Floats, counts: Floats) -> Floats:
        """Compute the metrics from sums of additions, (B, number of metrics), in the order asked for; 0/0 = 0."""
        quotients = dict(zip(self._quotients, divided(above, below).T, strict=True))
        at = {name: self._counts(name, counts) for name in self._thresholds}
        metrics = []
        for metric in self.metrics:
            if metric.threshold is None:
                metrics.append(quotients[metric])
            else:
                mask = self._in_bin[metric.bin]
                metrics.append(classified(metric.family, at[metric.threshold], None if mask.all() else mask))
        return np.nan_to_num(np.stack(metrics, axis=1))

    def resampled(self, weights: Floats) -> Floats:
        """Compute the metrics of documents that count as often as B weightings (B, N) say."""
        parts = in_parts(weights, self.num_labels)
        return np.concatenate([self.values(*self.additions.sums(part)) for part in parts])

    def of_draws(self, draws: Draws) -> Floats:
        """Compute the metrics in each resample of the bootstrap, (R, number of metrics); kept for the next system."""
        if self._of_draws is None or self._of_draws[0] is not draws:
            self._of_draws = draws, self.resampled(draws.often.astype(np.float64))
        return self._of_draws[1]

    def _counts(self, threshold: str, counts: Floats) -> WeightedCounts:
        """Return the counts at a threshold, (L, B)."""
        of, place = counts.reshape(-1, self.num_labels, counts.shape[1]), 1 + self._thresholds.index(threshold)
        return WeightedCounts(of[place + len(self._thresholds)], of[place], of[0])

    def per_unit(self, metric: Metric) -> Floats | None:
        """Return values whose mean the metric is (up to a factor), for a signed-rank test; None where there are none.

        Of documents or, for macro metrics, of labels. What propensity-scored metrics have below the line is the same
        for every system.
        """
        if metric.family.startswith("Micro") or metric.family == "Macro-F1-caml":
            return None
        if metric.threshold is None:
            return self.additions.above[:, self._quotients.index(metric)]
        counts = self._counts(metric.threshold, self.additions.sums(np.ones((1, self.num_documents)))[2])
        averaged = self._in_bin[metric.bin]
        if metric.family == "Macro-F1-present":
            averaged = averaged & (counts.true[:, 0] > 0)
        return counts.ratios(metric.family.split("-")[1])[averaged, 0]


def compare_documents(
    system: Sequence[DocumentSums],
    baseline: Sequence[DocumentSums],
    *,
    seeds: int | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Test every metric of a system against a baseline on the same documents.

    Args:
        system: Its seeds; each of the same metrics, documents and label columns as all others here.
        baseline: The baseline's, each of which is paired with the system's in its place.
        seeds: How many there are, where both sides have those of several systems, one system's after another's: the
            gain of a seed is then the mean over systems. None: all are of one.
        resamples: Of the bootstrap and of the randomisation, at least 1.
        seed: Of the draws.

    Returns:
        Metric's name -> comparison.
    """
    metrics, number = system[0].metrics, system[0].num_documents
    seeds = seeds or len(system)
    draws = draw(number, system[0].num_labels, resamples, seed)
    pairs = [Exchange(*pair) for pair in zip(system, baseline, strict=True)]
    gains = np.stack([pair.gain for pair in pairs])
    exceeding = np.zeros(len(metrics))
    for exchanged in in_parts(draws.exchanged, system[0].num_labels):
        by_chance = np.mean([pair.gain_after(exchanged) for pair in pairs], axis=0)
        exceeding += (np.abs(by_chance) >= np.abs(gains.mean(axis=0)) - ROUNDING).sum(axis=0)
    p_values = (exceeding + 1.0) / (resamples + 1.0)
    drawn = np.stack([pair.gain_of_draws(draws) for pair in pairs], axis=1)
    of_seeds = gains.reshape(-1, seeds, len(metrics)).mean(axis=0)
    low, high = interval(of_seeds, drawn.reshape(resamples, -1, seeds, len(metrics)).mean(axis=1), seed)
    gain_of_part = np.mean([pair.gain_in(draws.parts) for pair in pairs], axis=0)
    return {
        metric.name: Comparison(
            float(of_seeds[:, column].mean()),
            float(low[column]),
            float(high[column]),
            float(p_values[column]),
            _wilcoxon(system, baseline, metric),
            _signed_rank_of_few(gain_of_part[:, column]),
            seeds,
        )
        for column, metric in enumerate(metrics)
    }


class Exchange:
    """Two results that exchange documents; ``gain`` is that of the first over the second as they are, (metrics,)."""

    def __init__(self, first: DocumentSums, second: DocumentSums) -> None:
        self._runs = first, second
        everything = np.ones((1, first.num_documents))
        self._sums = [run.additions.sums(everything) for run in self._runs]
        self._moved = second.additions.minus(first.additions)  # on what both agree, nothing moves
        self.gain = first.values(*self._sums[0])[0] - second.values(*self._sums[1])[0]

    def gain_of_draws(self, draws: Draws) -> Floats:
        """Compute the gain in each resample of the bootstrap, (R, metrics)."""
        first, second = self._runs
        return np.asarray(first.of_draws(draws) - second.of_draws(draws))

    def gain_in(self, weights: Floats) -> Floats:
        """Compute the gain over documents that count as often as B weightings (B, N) say, (B, metrics)."""
        first, second = self._runs
        return np.asarray(first.resampled(weights) - second.resampled(weights))

    def gain_after(self, exchanged: Floats) -> Floats:
        """Compute the gain after the marked documents (B, N) changed sides, (B, metrics)."""
        moved = self._moved.sums(exchanged)
        (first, second), (ours, theirs) = self._runs, self._sums
        return first.values(*map(np.add, ours, moved)) - second.values(*map(np.subtract, theirs, moved))


def _wilcoxon(system: Sequence[DocumentSums], baseline: Sequence[DocumentSums], metric: Metric) -> float | None:
    ours, theirs = ([run.per_unit(metric) for run in runs] for runs in (system, baseline))
    if any(values is None for values in (*ours, *theirs)):
        return None
    difference = np.mean(np.stack(ours), axis=0) - np.mean(np.stack(theirs), axis=0)  # type: ignore[arg-type]
    return _signed_rank(difference)


def _signed_rank(difference: Floats) -> float:
    """Compute p of Wilcoxon's test by its normal approximation."""
    from scipy.stats import wilcoxon

    difference = _in_units(difference)
    return float(wilcoxon(difference, method="approx").pvalue) if difference.any() else 1.0


def _signed_rank_of_few(difference: Floats) -> float:
    """Compute p of Wilcoxon's test over all signs that up to ten differences can have; exact also where some are equal.

    It is scipy's ``wilcoxon(method="auto")``, which calls Python for each of the 1,024 where some are.
    """
    from scipy.stats import rankdata

    difference = _in_units(difference)
    difference = difference[difference != 0]
    ranks = rankdata(np.abs(difference))
    signs = np.arange(1 << len(ranks))[:, None] >> np.arange(len(ranks)) & 1
    observed, possible = ranks[difference > 0].sum(), signs @ ranks
    return min(1.0, 2 * min(float(np.mean(possible >= observed)), float(np.mean(possible <= observed))))


def _in_units(difference: Floats) -> Floats:
    """Round to whole units.

    What differs only by the order of a sum, which processors choose, is a tie and shares a rank.
    """
    return np.rint(difference / ROUNDING)
