"""Metrics of weighted documents: what a resample or an exchange of documents changes is only how often each counts.

Every metric here is made of sums over documents. Precision, recall, nDCG, MAP, the propensity-scored and the micro
metrics are one sum divided by another; the macro metrics are means over labels of such quotients. So the numbers of a
resample need one product of its weights with stored values, and no score is looked at again. The AUCs compare documents
with each other: a resample weighs both sides (``roc_parts``). When two systems exchange documents, their scores cannot
be compared, and a document brings the places of its true labels among the false ones of its own system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation import names
from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.propensity import inverse_propensities
from plant_plugin.evaluation.ranking import discounts, ideal_gains, true_at
from plant_plugin.evaluation.roc_parts import RocSums

Floats = npt.NDArray[np.float64]
Counts = tuple[Floats, Floats, Floats]  # hit, predicted, true
WHOLE_RANKING = {"MAP": "average_precision", "MAP-gold": "gold_precision"}  # family -> what is kept of each document


@dataclass
class Sums:
    """Sums over weighted documents, for B weightings at once; they add up like the documents do.

    Attributes:
        above: (B, M) numerators of the metrics that are quotients.
        below: (B, M) denominators.
        counts: Threshold's name -> hit, predicted and true documents of each label, (L, B) each.
    """

    above: Floats
    below: Floats
    counts: dict[str, Counts]

    def __add__(self, other: Sums) -> Sums:
        counts = {
            name: (hit + other.counts[name][0], predicted + other.counts[name][1], true + other.counts[name][2])
            for name, (hit, predicted, true) in self.counts.items()
        }
        return Sums(self.above + other.above, self.below + other.below, counts)


def computable(metric: Metric, documents: PerDocument) -> bool:
    """Whether a metric follows from what is kept of the documents; the loss never does."""
    if metric.k:
        known = documents.train_counts is not None and bool(documents.num_train)
        return metric.k <= documents.top.shape[1] and (known or not metric.propensity_scored)
    if metric.threshold is not None:
        return metric.threshold in documents.predicted and (metric.bin is None or documents.train_counts is not None)
    if metric.family == "AUC-macro":
        return documents.roc is not None and (metric.bin is None or documents.train_counts is not None)
    if metric.family == "AUC-micro":
        return documents.roc is not None and documents.roc.micro is not None
    return metric.family in WHOLE_RANKING and getattr(documents, WHOLE_RANKING[metric.family]) is not None


class DocumentSums:
    """Some metrics of one result, ready to be computed under any weighting of its documents.

    Args:
        documents: What is kept of them.
        metrics: Metrics for which ``computable`` holds.
    """

    def __init__(self, documents: PerDocument, metrics: Sequence[Metric]) -> None:
        self.metrics = list(metrics)
        self.num_labels = len(documents.labels)
        self._quotients = [metric for metric in metrics if not metric.family.startswith("Macro")]
        self._num_true = np.diff(documents.truth.indptr).astype(np.float64)
        hit_pairs = {name: pairs.multiply(documents.truth).tocsr() for name, pairs in documents.predicted.items()}
        ranked = _ranked(documents, self._quotients) if any(metric.k for metric in self._quotients) else {}
        self._in_bin: dict[str | None, npt.NDArray[np.bool_]] = {None: np.ones(len(documents.labels), dtype=bool)}
        if documents.train_counts is not None:
            for name, (lowest, highest) in names.BINS.items():
                upper = np.inf if highest is None else highest
                self._in_bin[name] = (documents.train_counts >= lowest) & (documents.train_counts <= upper)
        self._areas = [metric for metric in metrics if metric.family in ("AUC-macro", "AUC-micro")]
        if self._areas:
            assert documents.roc is not None  # `computable` was asked
            self._roc = RocSums(documents.roc, len(documents))
        columns = [self._column(metric, documents, ranked, hit_pairs) for metric in self._quotients]
        empty = np.empty((len(documents), 0))
        self.above = np.column_stack([above for above, _ in columns]) if columns else empty  # (N, M)
        self.below = np.column_stack([below for _, below in columns]) if columns else empty
        macro = {str(metric.threshold) for metric in metrics if metric.family.startswith("Macro")}
        self._pairs = {
            name: tuple(sp.csr_matrix(m.T) for m in (hit_pairs[name], documents.predicted[name], documents.truth))
            for name in macro
        }

    def _column(
        self,
        metric: Metric,
        documents: PerDocument,
        ranked: dict[str, tuple[Floats, Floats]],
        hit_pairs: dict[str, sp.csr_matrix],
    ) -> tuple[Floats, Floats]:
        """What each document adds above and below the line of a quotient, (N,) each."""
        if metric.k:
            above, below = ranked[metric.family]
            return above[:, metric.k - 1], below[:, metric.k - 1]
        if metric.family in WHOLE_RANKING:
            precision = np.asarray(getattr(documents, WHOLE_RANKING[metric.family]), dtype=np.float64)
            return np.nan_to_num(precision), (~np.isnan(precision)).astype(np.float64)
        if metric.family == "AUC-macro":
            return self._roc.macro_column(self._in_bin[metric.bin])
        if metric.family == "AUC-micro":
            return self._roc.micro_column()
        hit = np.diff(hit_pairs[str(metric.threshold)].indptr).astype(np.float64)
        predicted = np.diff(documents.predicted[str(metric.threshold)].indptr).astype(np.float64)
        if metric.family == "Micro-P":
            return hit, predicted
        return (hit, self._num_true) if metric.family == "Micro-R" else (2 * hit, predicted + self._num_true)

    def sums(self, weights: Floats) -> Sums:
        """Sums under B weightings of the N documents, (B, N)."""
        columns = np.ascontiguousarray(weights.T)
        counts = {name: tuple(pairs @ columns for pairs in three) for name, three in self._pairs.items()}
        return Sums(weights @ self.above, weights @ self.below, counts)  # type: ignore[arg-type]

    def values(self, sums: Sums) -> Floats:
        """The metrics, (B, number of metrics), in the order they were asked for; 0/0 = 0."""
        quotients = dict(zip(self._quotients, (sums.above / np.where(sums.below > 0, sums.below, 1.0)).T, strict=True))
        found = [
            quotients[m] if m in quotients else self._macro(m, sums.counts[str(m.threshold)]) for m in self.metrics
        ]
        return np.stack(found, axis=1)

    def resampled(self, weights: Floats) -> Floats:
        """The metrics under B weightings of the documents (B, N), the AUCs against false documents so weighted too."""
        found = self.values(self.sums(weights))
        for metric in self._areas:
            macro = metric.family == "AUC-macro"
            column = self._roc.macro(weights, self._in_bin[metric.bin]) if macro else self._roc.micro(weights)
            found[:, self.metrics.index(metric)] = column
        return found

    def _macro(self, metric: Metric, counts: Counts) -> Floats:
        in_bin = self._in_bin[metric.bin]
        hit, predicted, true = (array if in_bin.all() else array[in_bin] for array in counts)  # (L, B)
        number = max(1, len(hit))
        if metric.family == "Macro-F1":
            return np.asarray(_ratio(2 * hit, predicted + true).sum(axis=0) / number)
        if metric.family == "Macro-F1-present":
            present = true > 0
            return np.asarray(
                _ratio(2 * hit, predicted + true).sum(axis=0, where=present) / present.sum(axis=0).clip(1)
            )
        precision, recall = _ratio(hit, predicted).sum(axis=0) / number, _ratio(hit, true).sum(axis=0) / number
        if metric.family == "Macro-F1-caml":
            return _ratio(2 * precision * recall, precision + recall)
        return np.asarray(precision if metric.family == "Macro-P" else recall)

    def per_unit(self, metric: Metric) -> Floats | None:
        """Values whose mean the metric is, for a signed-rank test; None where it is not the mean of anything.

        Documents for P, R, RP, nDCG, MAP and MAP-gold, and also for the propensity-scored ones (what each adds above
        the line; below it stands the same for every system). Labels for Macro-P, Macro-R, Macro-F1, Macro-F1-present,
        AUC-macro.
        """
        if metric.family == "AUC-macro":
            labels = self._roc.parts.labels
            by_label = np.argsort(labels)  # labels that were never ranked stand at the end of the parts
            return self._roc.areas[by_label][self._in_bin[metric.bin][labels[by_label]]]
        if metric in self._quotients:
            column = self._quotients.index(metric)
            return None if metric.family.startswith("Micro") or metric.family == "AUC-micro" else self.above[:, column]
        hit, predicted, true = (
            np.asarray(pairs.sum(axis=1), dtype=np.float64).ravel()[self._in_bin[metric.bin]]
            for pairs in self._pairs[str(metric.threshold)]
        )
        if metric.family == "Macro-F1-present":
            return _ratio(2 * hit, predicted + true)[true > 0]
        by_family = {"Macro-P": (hit, predicted), "Macro-R": (hit, true), "Macro-F1": (2 * hit, predicted + true)}
        return _ratio(*by_family[metric.family]) if metric.family in by_family else None


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(above / np.where(below > 0, below, 1.0))


def _ranked(documents: PerDocument, metrics: Sequence[Metric]) -> dict[str, tuple[Floats, Floats]]:
    """Family -> what each document adds above and below the line at every cut-off, (N, K) each."""
    top, truth = documents.top, documents.truth
    cutoff = top.shape[1]
    hits = true_at(truth, top)
    num_true = np.diff(truth.indptr)[:, None]
    labels = num_true.clip(1)
    places = np.arange(1, cutoff + 1)
    discount = discounts(cutoff)
    ideal = np.cumsum(discount)[np.minimum(labels, places) - 1]
    one = np.ones(hits.shape)
    sums = hits.cumsum(axis=1)
    found = {
        "P": (sums / places, one),
        "R": (sums / labels, one),
        "RP": (sums / np.minimum(labels, places), one),
        "nDCG": ((hits * discount).cumsum(axis=1) / ideal, one),
    }
    if any(metric.propensity_scored for metric in metrics):
        assert documents.train_counts is not None  # `computable` was asked
        assert documents.num_train
        weights = inverse_propensities(documents.train_counts, documents.num_train, *documents.propensity)
        gained = np.append(weights, 0.0)[top] * hits
        best = ideal_gains(truth, weights, cutoff)
        found["PSP"] = (gained.cumsum(axis=1), best.cumsum(axis=1))
        found["PSnDCG"] = ((gained * discount).cumsum(axis=1) / ideal, (best * discount).cumsum(axis=1) / ideal)
        found["PSR"] = (gained.cumsum(axis=1) / labels, best.cumsum(axis=1) / labels)
    return found
