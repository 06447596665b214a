"""Precision, recall and F1 from per-label counts of true, predicted and hit documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.ranking import Scores

Floats = npt.NDArray[np.float64]


@dataclass
class LabelCounts:
    """Documents of each label, int64 (L,) each.

    Attributes:
        hit: Predicted and true.
        predicted: Predicted, true or not.
        true: True, predicted or not.
    """

    hit: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    true: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, num_labels: int) -> LabelCounts:
        """Nothing counted yet."""
        return cls(*(np.zeros(num_labels, dtype=np.int64) for _ in range(3)))

    def add(self, scores: Scores | sp.csr_matrix, truth: sp.csr_matrix, threshold: float) -> None:
        """Count a batch: scores and 0/1 truth (B, L); a label is predicted when its score is *greater*."""
        limit = np.float32(threshold)
        num_labels = truth.shape[1]
        if sp.issparse(scores):
            above = sp.csr_matrix(
                ((scores.data > limit).astype(np.int64), scores.indices, scores.indptr), shape=scores.shape
            )
            self.predicted += np.bincount(above.indices, weights=above.data, minlength=num_labels).astype(np.int64)
            self.hit += np.asarray(above.multiply(truth).sum(axis=0)).ravel().astype(np.int64)
        else:
            self.predicted += (scores > limit).sum(axis=0)
            rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
            hit = scores[rows, truth.indices] > limit
            self.hit += np.bincount(truth.indices[hit], minlength=num_labels)
        self.true += np.bincount(truth.indices, minlength=num_labels)

    def restricted(self, labels: npt.NDArray[np.bool_]) -> LabelCounts:
        """The same for some labels only."""
        return LabelCounts(self.hit[labels], self.predicted[labels], self.true[labels])


def micro(counts: LabelCounts) -> dict[str, float]:
    """Micro-P, Micro-R and Micro-F1 over all pairs, 0/0 = 0."""
    hit, predicted, true = (int(array.sum()) for array in (counts.hit, counts.predicted, counts.true))
    return {
        "Micro-P": hit / max(1, predicted),
        "Micro-R": hit / max(1, true),
        "Micro-F1": 2 * hit / max(1, predicted + true),
    }


def macro(counts: LabelCounts) -> dict[str, float]:
    """Every mean over labels; per label 0/0 = 0.

    Returns:
        ``Macro-P``, ``Macro-R``, ``Macro-F1``: mean over all labels. ``Macro-F1-present``: over the labels with a true
        document (Edin et al. 2023). ``Macro-F1-caml``: harmonic mean of ``Macro-P`` and ``Macro-R`` (Mullenbach et
        al. 2018). NaN where there is no label to average over.
    """
    if not len(counts.true):
        return dict.fromkeys(("Macro-P", "Macro-R", "Macro-F1", "Macro-F1-present", "Macro-F1-caml"), float("nan"))
    precision: Floats = counts.hit / counts.predicted.clip(1)
    recall: Floats = counts.hit / counts.true.clip(1)
    f1: Floats = 2 * counts.hit / (counts.predicted + counts.true).clip(1)
    present = counts.true > 0
    mean_precision, mean_recall = float(precision.mean()), float(recall.mean())
    both = mean_precision + mean_recall
    return {
        "Macro-P": mean_precision,
        "Macro-R": mean_recall,
        "Macro-F1": float(f1.mean()),
        "Macro-F1-present": float(f1[present].mean()) if present.any() else float("nan"),
        "Macro-F1-caml": 2 * mean_precision * mean_recall / both if both else 0.0,
    }
