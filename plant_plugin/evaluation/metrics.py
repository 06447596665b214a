"""Every metric of this package from one pass over scores and truth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation import names, propensity, ranking
from plant_plugin.evaluation.added import AddedMetric
from plant_plugin.evaluation.classification import Predicted, classified, labels_in_bins
from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.roc import roc_areas
from plant_plugin.evaluation.store import Matrix, ScoreStore, checked, without
from plant_plugin.evaluation.used_labels import only_used

PROBABILITY_HALF = MappingProxyType({"0.5": 0.0})


class Evaluator:
    """Metrics of a split, batch by batch.

    Kept in memory: the best K labels of each document, the true pairs, three counts per label and threshold. The AUCs
    need all scores, which are on disk meanwhile.

    Args:
        num_labels: L, at least 1.
        metrics: Names (see ``names.parse_metric``); None for every metric that can be computed, at ``names.RANKS``.
        train_label_counts: (L,) training documents with each label; for frequency bins and propensities.
        num_train: Training documents; for propensities.
        thresholds: Name in the metric (``0.5``, ``micro``, ``macro``) -> threshold in score space: logit 0.0 is
            probability 0.5. A label is predicted when its score is greater.
        propensity: A and B of the propensity model.
        outside: (N,) true labels of each document of the file that are outside the label set; for MAP-gold.
        removed: (N, L); the labels stored for a document are neither scored nor true there (XMC's filter files). The
            AUCs, to which they would be labels that are not true, are then not computed.
        spill_folder: See :class:`.store.ScoreStore`.
        keep_documents: Keep what :meth:`per_document` hands out.

    Raises:
        ConfigError: Metrics that do not exist, or that what is given does not allow; each of them in ``problems``.
    """

    def __init__(
        self,
        num_labels: int,
        *,
        metrics: Sequence[str] | None = None,
        train_label_counts: npt.ArrayLike | None = None,
        num_train: int | None = None,
        thresholds: Mapping[str, float] = PROBABILITY_HALF,
        propensity: tuple[float, float] = (0.55, 1.5),
        outside: npt.ArrayLike | None = None,
        removed: sp.csr_matrix | None = None,
        spill_folder: Path | None = None,
        keep_documents: bool = False,
    ) -> None:
        self.num_labels = num_labels
        self.thresholds = dict(thresholds)
        self.num_train = num_train
        self.train_label_counts = None if train_label_counts is None else np.asarray(train_label_counts)
        if self.train_label_counts is not None and self.train_label_counts.shape != (num_labels,):
            raise ValueError(f"train_label_counts has shape {self.train_label_counts.shape}, expected {(num_labels,)}")
        self._propensity = propensity
        self._outside = None if outside is None else np.asarray(outside, np.int64)
        self._removed = removed
        self._spill_folder = spill_folder
        self._by_default = metrics is None
        wanted_names = names.by_default(self.thresholds) if metrics is None else metrics
        wanted = [names.parse_metric(name) for name in wanted_names]
        problem_of = {metric: self._problem(metric) for metric in wanted}
        problems = [problem for problem in problem_of.values() if problem]
        if problems and not self._by_default:
            raise ConfigError("\n  ".join(problem.what for problem in problems), problems=problems)
        self.metrics = [metric for metric in wanted if not problem_of[metric]]
        self._added = {metric: AddedMetric(metric) for metric in self.metrics if metric.is_added}
        self._cutoff = max((metric.k for metric in self.metrics if metric.k and not metric.is_added), default=0)
        self._keep_documents = keep_documents
        self._predicted = {
            name: Predicted(num_labels, threshold, keep=keep_documents)
            for name, threshold in self.thresholds.items()
            if keep_documents or any(metric.threshold == name for metric in self.metrics)
        }
        self._store: ScoreStore | None = None
        self._documents = 0
        self._top: list[npt.NDArray[np.int64]] = []
        self._truth: list[sp.csr_matrix] = []
        self._precisions: list[npt.NDArray[np.float64]] = []
        self._loss_sum: float | None = None
        self._numbers: list[npt.NDArray[np.int64]] = []

    def _problem(self, metric: Metric) -> ConfigError | None:
        """Say why a metric cannot be computed here; None where it can."""
        missing_counts = self.train_label_counts is None or (metric.propensity_scored and not self.num_train)
        if metric.k and metric.k > self.num_labels:
            what = f"k is more than there are labels: {self.num_labels}"
        elif metric.threshold is not None and metric.threshold not in self.thresholds:
            what = f"there is no threshold {metric.threshold!r} here (given: {', '.join(self.thresholds) or 'none'})"
        elif metric.needs_training_counts and missing_counts:
            what = "needs the label counts of the training split, which are not at hand"
        elif metric.family == "MAP-gold" and self._outside is None:
            what = "needs the true labels outside the label set, which are not at hand"
        elif metric.needs_all_scores and self._removed is not None and self._removed.nnz:
            what = "is over all pairs, and a test filter takes some out"
        else:
            return None
        return ConfigError(f"{metric.name}: {what}")

    def update(
        self, scores: Matrix, truth: Matrix, documents: npt.ArrayLike | None = None, *, loss: float | None = None
    ) -> None:
        """Add a batch of documents.

        Args:
            scores: (B, L) logits or decision values. -inf: not scored; such a label is never predicted and never a
                hit. A sparse matrix (e.g. the top 100 of each document) has scored only its stored entries; with
                ``metrics=None`` MAP and the AUCs are then left out.
            truth: 0/1 (B, L).
            documents: (B,) numbers of the documents in their file, where batches do not follow its order.
            loss: Mean loss of the batch, for ``Loss``.

        Raises:
            ValueError: Shapes that do not fit.
            PlantError: NaN among the scores, or the disk is full.
        """
        scores, truth = checked(scores, truth)
        if truth.shape[1] != self.num_labels:
            raise ValueError(f"truth has {truth.shape[1]} labels, expected {self.num_labels}")
        if not truth.shape[0]:
            return
        first = self._documents
        self._documents += truth.shape[0]
        self._numbers.append(np.asarray(np.arange(first, self._documents) if documents is None else documents))
        if self._removed is not None:
            scores, truth = without(scores, truth, self._removed[self._numbers[-1]])
        self._truth.append(truth)
        if sp.issparse(scores) and self._by_default:
            self.metrics = [metric for metric in self.metrics if not metric.needs_whole_ranking]
        if self._cutoff:
            self._top.append(ranking.top_labels(scores, self._cutoff))
        for predicted in self._predicted.values():
            predicted.add(scores, truth)
        for added in self._added.values():
            added.add(scores, truth)
        if self._asks("MAP", "MAP-gold"):
            self._precisions.append(ranking.average_precisions(scores, truth))
        if self._asks("AUC-macro", "AUC-micro"):
            self._store = self._store or ScoreStore(self.num_labels, self._spill_folder)
            self._store.append(scores, truth)
        if loss is not None:
            self._loss_sum = (self._loss_sum or 0.0) + float(loss) * truth.shape[0]

    def _asks(self, *families: str) -> bool:
        return any(metric.family in families for metric in self.metrics)

    def compute(self) -> dict[str, float]:
        """Compute every metric under the name it was asked for, as a fraction.

        Undefined values (no label in a bin, no label with both classes) are NaN when asked for by name and left out
        otherwise.

        Raises:
            DataError: No documents were added.
            ConfigError: ``Loss`` was asked for, but no batch came with one.
        """
        if not self._documents:
            raise DataError("there are no documents to evaluate", fix="check that the split's file is not empty")
        truth = self._all_truth()
        ranked = {}
        if self._cutoff:
            weights = propensity.weights_for(self.metrics, self.train_label_counts, self.num_train, self._propensity)
            ranked = propensity.ranked_metrics(np.concatenate(self._top), truth, weights)
        in_bin = labels_in_bins(self.num_labels, self.train_label_counts)
        areas = None if self._store is None else roc_areas(self._store)
        values: dict[str, float] = {}
        for metric in self.metrics:
            if metric.is_added:
                value = self._added[metric].value()
            elif metric.k:
                value = float(ranked[metric.family][metric.k - 1])
            elif metric.threshold is not None:
                counts = self._predicted[metric.threshold].counts
                value = float(classified(metric.family, counts, in_bin[metric.bin]))
            else:
                value = self._whole(metric, truth, in_bin[metric.bin], areas)
            if not (self._by_default and math.isnan(value)):
                values[metric.name] = value
        return values

    def _all_truth(self) -> sp.csr_matrix:
        return sp.csr_matrix(sp.vstack(self._truth, format="csr"))

    def _whole(
        self,
        metric: Metric,
        truth: sp.csr_matrix,
        labels: npt.NDArray[np.bool_],
        areas: tuple[npt.NDArray[np.float64], float] | None,
    ) -> float:
        """Compute a metric that has neither rank nor threshold, over some labels (a mask)."""
        if metric.family == "Loss":
            if self._loss_sum is None:
                raise ConfigError("Loss: the scores came without a loss", fix="choose a metric computed from scores")
            return self._loss_sum / self._documents
        if areas is not None and metric.family == "AUC-micro":
            return areas[1]
        if areas is not None and metric.family == "AUC-macro":
            values = areas[0][labels]
        else:
            values = np.concatenate(self._precisions) if metric.family == "MAP" else self._gold_precisions(truth)
        values = values[~np.isnan(values)]
        return float(values.mean()) if len(values) else math.nan

    def _gold_precisions(self, truth: sp.csr_matrix) -> npt.NDArray[np.float64]:
        """Compute precisions at the known labels over all true labels, (N,).

        It is NaN where a document has none, known or not.
        """
        assert self._outside is not None  # checked with the metrics' names
        known = np.diff(truth.indptr)
        wanted = known + self._outside[np.concatenate(self._numbers)]
        return ranking.with_unranked(np.concatenate(self._precisions), known, wanted)

    def per_document(self, labels: Sequence[str]) -> PerDocument:
        """Return what every document contributes, in the order of their file.

        It needs ``keep_documents`` and a document.
        """
        if not self._keep_documents:
            raise ValueError("the evaluator was made without keep_documents")
        order = np.argsort(np.concatenate(self._numbers), kind="stable")
        truth = self._all_truth()
        top = np.concatenate(self._top) if self._top else np.empty((self._documents, 0), dtype=np.int64)
        pairs = {name: predicted.pairs() for name, predicted in self._predicted.items()}
        whole = np.concatenate(self._precisions)[order].astype(np.float32) if self._asks("MAP") else None
        return only_used(PerDocument(
            list(labels),
            truth[order],
            top[order],
            {name: stored[order] for name, stored in pairs.items() if stored is not None},
            whole,
            self.train_label_counts,
            self.num_train,
            self._propensity,
            self._gold_precisions(truth)[order].astype(np.float32) if self._asks("MAP-gold") else None,
            {metric.canonical: added.columns()[order] for metric, added in self._added.items()},
        ))  # fmt: skip

    @property
    def counts(self) -> dict[str, int]:
        """Count what the values rest on: documents, labels, and how many of each are empty."""
        truth = self._all_truth() if self._truth else sp.csr_matrix((0, self.num_labels))
        per_label = np.bincount(truth.indices, minlength=self.num_labels)
        return {
            "documents": self._documents,
            "labels": self.num_labels,
            "labels_present": int((per_label > 0).sum()),
            "documents_without_labels": int((np.diff(truth.indptr) == 0).sum()),
            "auc_labels": int(((per_label > 0) & (per_label < self._documents)).sum()),
        }

    @property
    def backend(self) -> str:
        """Name who computes P@k and the propensity-scored metrics: ``xclib`` or ``builtin``."""
        return "builtin" if propensity.xclib_metrics() is None else "xclib"
