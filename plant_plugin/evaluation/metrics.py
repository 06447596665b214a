"""Every metric of this package from one pass over scores and truth."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation import names, propensity, ranking
from plant_plugin.evaluation.classification import LabelCounts, macro, micro
from plant_plugin.evaluation.inputs import checked_scores, checked_truth, dense_blocks
from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.per_document import PerDocument, Predicted
from plant_plugin.evaluation.roc import roc_areas
from plant_plugin.evaluation.roc_parts import RocParts, roc_parts
from plant_plugin.evaluation.score_store import ScoreStore

PROBABILITY_HALF = MappingProxyType({"0.5": 0.0})


class Evaluator:
    """Metrics of a split, batch by batch.

    Kept in memory: the best K labels of each document, the true pairs, three counts per label and threshold; never all
    scores. AUC-macro and AUC-micro need all of them and keep them on disk meanwhile.

    Args:
        num_labels: L, at least 1.
        metrics: Names (see ``names.parse_metric``); None for every metric that can be computed, with k = 1, 3, 5, 8,
            10, 15 where k <= L.
        train_label_counts: (L,) documents of the *training* split with each label; for frequency bins and propensities.
        num_train: Documents of the training split; for propensities.
        thresholds: Name in the metric (``0.5``, ``micro``, ``macro``) -> threshold in score space: logit 0.0 is
            probability 0.5. A label is predicted when its score is greater.
        propensity: A and B of the propensity model.
        outside: True labels of each document of the file that are outside the label set (``labels_outside``); for
            MAP-gold.
        spill_folder: Where scores are kept on disk for the AUCs; None for the system's temporary folder.
        keep_documents: Keep what `per_document` hands out.

    Raises:
        ConfigError: A metric that does not exist, whose k exceeds L, whose threshold was not given, or that needs
            training counts or labels outside the label set which were not given. All of them at once in ``problems``.
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
        spill_folder: str | os.PathLike[str] | None = None,
        keep_documents: bool = False,
    ) -> None:
        self.num_labels = num_labels
        self.thresholds = dict(thresholds)
        self.num_train = num_train
        self.train_label_counts = None if train_label_counts is None else np.asarray(train_label_counts)
        if self.train_label_counts is not None and self.train_label_counts.shape != (num_labels,):
            raise ValueError(f"train_label_counts has shape {self.train_label_counts.shape}, expected {(num_labels,)}")
        self._propensity = propensity
        self._outside = None if outside is None else np.asarray(outside, dtype=np.int64)
        self._spill_folder = spill_folder
        self._by_default = metrics is None
        self.metrics = self._defaults() if metrics is None else [names.parse_metric(name) for name in metrics]
        problems = [problem for metric in self.metrics if (problem := self._problem(metric))]
        if problems:
            raise ConfigError("\n  ".join(problem.what for problem in problems), problems=problems)
        self._cutoff = max((metric.k for metric in self.metrics if metric.k), default=0)
        self._counts = {t: LabelCounts.zeros(num_labels) for t in {m.threshold for m in self.metrics} if t is not None}
        self._whole_rankings = any(metric.family == "MAP" for metric in self.metrics)
        self._gold = any(metric.family == "MAP-gold" for metric in self.metrics)
        self._keep_scores = any(metric.needs_all_scores for metric in self.metrics)
        self._store: ScoreStore | None = None
        self._area: float | None = None  # over all pairs, as computed last
        self._documents = 0
        self._top: list[npt.NDArray[np.int64]] = []
        self._truth: list[sp.csr_matrix] = []
        self._precisions: list[npt.NDArray[np.float64]] = []
        self._loss_sum: float | None = None
        self._predicted = Predicted(self.thresholds) if keep_documents else None
        self._numbers: list[npt.NDArray[np.int64]] = []

    def _defaults(self) -> list[Metric]:
        """Every metric of the package that this evaluator has the means for, in the order of reports."""
        found = [f"{family}@{k}" for family in names.RANKED for k in names.RANKS if k <= self.num_labels]
        found += ["MAP", "MAP-gold", *(f"{family}@{t}" for t in self.thresholds for family in names.CLASSIFIED)]
        variants = [family for family in names.CLASSIFIED if family.startswith("Macro-F1")]
        found += [f"{family}@{t}:{b}" for t in self.thresholds for family in variants for b in names.BINS]
        found += ["AUC-macro", "AUC-micro"]
        metrics = [names.parse_metric(name) for name in found]
        return [metric for metric in metrics if self._problem(metric) is None]

    def _problem(self, metric: Metric) -> ConfigError | None:
        """Why a metric cannot be computed here, if so."""
        if metric.k and metric.k > self.num_labels:
            return ConfigError(f"{metric.name}: there are only {self.num_labels} labels, fewer than k")
        if metric.threshold is not None and metric.threshold not in self.thresholds:
            known = ", ".join(self.thresholds) or "none"
            return ConfigError(f"{metric.name}: there is no threshold {metric.threshold!r} here (given: {known})")
        missing_counts = self.train_label_counts is None or (metric.propensity_scored and not self.num_train)
        if metric.needs_training_counts and missing_counts:
            return ConfigError(f"{metric.name}: needs the label counts of the training split, which are not at hand")
        if metric.family == "MAP-gold" and self._outside is None:
            return ConfigError(f"{metric.name}: needs the true labels outside the label set, which are not at hand")
        return None

    def update(
        self, scores: Any, truth: Any, documents: npt.ArrayLike | None = None, *, loss: float | None = None
    ) -> None:
        """Add a batch of documents.

        Args:
            scores: (B, L) logits or decision values, read as float32. -inf: not scored; such a label is never
                predicted and never a hit. A sparse matrix (e.g. the top 100 of each document) has scored only its
                stored entries; with ``metrics=None`` MAP and the AUCs are then left out.
            truth: 0/1 (B, L), sparse or dense.
            documents: (B,) numbers of the documents in their file, where batches do not follow its order.
            loss: Mean loss of the batch, for ``Loss``.

        Raises:
            ValueError: Shapes that do not fit.
            PlantError: NaN among the scores, or the disk is full.
        """
        truth = checked_truth(truth)
        if truth.shape[1] != self.num_labels:
            raise ValueError(f"truth has {truth.shape[1]} labels, expected {self.num_labels}")
        scores = checked_scores(scores, truth)
        sparse = sp.issparse(scores)
        if not truth.shape[0]:
            return
        first = self._documents
        self._documents += truth.shape[0]
        self._area = None
        self._truth.append(truth)
        if sparse and self._by_default:
            self._whole_rankings = self._keep_scores = False
            self.metrics = [metric for metric in self.metrics if not metric.needs_whole_ranking]
        if self._predicted is not None:
            self._predicted.add(scores)
        self._numbers.append(np.asarray(np.arange(first, self._documents) if documents is None else documents))
        if self._cutoff:
            select = ranking.top_labels_sparse if sparse else ranking.top_labels
            self._top.append(select(scores, self._cutoff))
        for name, counts in self._counts.items():
            counts.add(scores, truth, self.thresholds[name])
        if self._whole_rankings or self._gold:
            self._precisions.append(ranking.average_precisions(scores, truth))
        if self._keep_scores:
            self._store = self._store or ScoreStore(self.num_labels, self._spill_folder)
            for rows, block in dense_blocks(scores):
                self._store.append(block, truth[rows])
        if loss is not None:
            self._loss_sum = (self._loss_sum or 0.0) + float(loss) * truth.shape[0]

    def compute(self) -> dict[str, float]:
        """Every metric under the name it was asked for, as a fraction.

        Returns:
            Name -> value. Undefined values (no label in a bin, no label with both classes) are NaN when asked for by
            name and left out otherwise.

        Raises:
            DataError: No documents were added.
            ConfigError: ``Loss`` was asked for, but no batch came with one.
        """
        if not self._documents:
            raise DataError("there are no documents to evaluate", fix="check that the split's file is not empty")
        truth = sp.csr_matrix(sp.vstack(self._truth, format="csr"))
        ranked = self._ranked(truth) if self._cutoff else {}
        whole = self._whole(truth)
        areas, whole["AUC-micro"] = roc_areas(self._store) if self._keep_scores and self._store else (None, math.nan)
        self._area = whole["AUC-micro"]
        in_bin = self._bins()
        values: dict[str, float] = {}
        for metric in self.metrics:
            labels = in_bin[metric.bin]
            if metric.k:
                value = float(ranked[metric.family][metric.k - 1])
            elif metric.threshold is not None:
                average = micro if metric.family.startswith("Micro") else macro
                value = average(self._counts[metric.threshold].restricted(labels))[metric.family]
            elif metric.family == "AUC-macro":
                defined = areas[labels & ~np.isnan(areas)] if areas is not None else np.empty(0)
                value = float(defined.mean()) if len(defined) else math.nan
            else:
                value = whole[metric.family]
            if not (self._by_default and math.isnan(value)):
                values[metric.name] = value
        return values

    def _ranked(self, truth: sp.csr_matrix) -> dict[str, npt.NDArray[np.float64]]:
        """Family -> values for every cut-off up to the largest."""
        top = np.concatenate(self._top)
        hits = ranking.true_at(truth, top)
        ranked = ranking.hit_metrics(hits, np.diff(truth.indptr).astype(np.int64))
        ranked["P"] = propensity.precision(top, hits, truth)
        if any(metric.propensity_scored for metric in self.metrics) and self.num_train:
            assert self.train_label_counts is not None  # checked with the metrics' names
            weights = propensity.inverse_propensities(self.train_label_counts, self.num_train, *self._propensity)
            ranked.update(propensity.propensity_scored(top, hits, truth, weights))
        return ranked

    def _whole(self, truth: sp.csr_matrix) -> dict[str, float]:
        """What has neither rank nor threshold, but for the AUCs."""
        precisions = np.concatenate(self._precisions) if self._precisions else np.empty(0)
        if self._loss_sum is None and any(metric.family == "Loss" for metric in self.metrics):
            raise ConfigError("Loss: the scores came without a loss", fix="choose a metric computed from scores")
        gold = self._gold_precisions(truth) if self._gold else np.empty(0)
        gold = gold[~np.isnan(gold)]
        return {
            "MAP": float(precisions.mean()) if len(precisions) else math.nan,
            "MAP-gold": float(gold.mean()) if len(gold) else math.nan,
            "Loss": math.nan if self._loss_sum is None else self._loss_sum / self._documents,
        }

    def _gold_precisions(self, truth: sp.csr_matrix) -> npt.NDArray[np.float64]:
        """Precisions at the found labels over all true labels, (N,); NaN where a document has none, known or not."""
        assert self._outside is not None  # checked with the metrics' names
        known = np.diff(truth.indptr)
        gold = known + self._outside[np.concatenate(self._numbers)]
        found = np.where(gold > 0, 0.0, np.nan)
        found[known > 0] = np.concatenate(self._precisions) * known[known > 0] / gold[known > 0]
        return found

    def _bins(self) -> dict[str | None, npt.NDArray[np.bool_]]:
        """Bin -> which labels are in it, (L,); None stands for all."""
        found: dict[str | None, npt.NDArray[np.bool_]] = {None: np.ones(self.num_labels, dtype=bool)}
        if self.train_label_counts is not None:
            for name, (lowest, highest) in names.BINS.items():
                upper = np.inf if highest is None else highest
                found[name] = (self.train_label_counts >= lowest) & (self.train_label_counts <= upper)
        return found

    def per_document(self, labels: Sequence[str]) -> PerDocument:
        """What every document contributes, in the order of their file; needs ``keep_documents`` and a document.

        Args:
            labels: The L names, in column order.
        """
        if self._predicted is None:
            raise ValueError("the evaluator was made without keep_documents")
        truth = sp.csr_matrix(sp.vstack(self._truth, format="csr"))
        precision = None
        if self._whole_rankings:
            precision = np.full(self._documents, np.nan, dtype=np.float32)
            precision[np.diff(truth.indptr) > 0] = np.concatenate(self._precisions)
        return PerDocument(
            list(labels),
            truth,
            np.concatenate(self._top) if self._top else np.empty((self._documents, 0), dtype=np.int64),
            self._predicted.matrices(),
            precision,
            self.train_label_counts,
            self.num_train,
            self._propensity,
            self._roc_parts(),
            self._gold_precisions(truth).astype(np.float32) if self._gold else None,
        ).in_order(np.concatenate(self._numbers))

    def _roc_parts(self) -> RocParts | None:
        if self._store is None:
            return None
        return roc_parts(self._store, roc_areas(self._store)[1] if self._area is None else self._area)

    @property
    def counts(self) -> dict[str, int]:
        """What the values rest on: documents, labels, and how many of each are empty."""
        per_label = np.zeros(self.num_labels, dtype=np.int64)
        for truth in self._truth:
            per_label += np.bincount(truth.indices, minlength=self.num_labels)
        return {
            "documents": self._documents,
            "labels": self.num_labels,
            "labels_present": int((per_label > 0).sum()),
            "documents_without_labels": sum(int((np.diff(truth.indptr) == 0).sum()) for truth in self._truth),
            "auc_labels": int(((per_label > 0) & (per_label < self._documents)).sum()),
        }

    @property
    def backend(self) -> str:
        """Who computes P@k and the propensity-scored metrics: ``xclib`` or ``builtin``."""
        return "builtin" if propensity.xclib_metrics() is None else "xclib"
