"""Precision, recall and F1 from how many documents have a label, are predicted to have it, and both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation import names
from plant_plugin.evaluation.ranking import Scores, rows_of

Numbers = npt.NDArray[np.integer] | npt.NDArray[np.floating]
Floats = npt.NDArray[np.float64]
MOST_PAIRS = 20_000_000  # predicted pairs kept for one threshold; one that predicts more is let go


@dataclass
class LabelCounts:
    """Documents of each label, whole numbers (L,), or (L, B) where documents are weighted in B ways."""

    hit: Numbers  # predicted and true
    predicted: Numbers
    true: Numbers

    def ratios(self, kind: str) -> Floats:
        """Return precision ``P``, recall ``R`` or ``F1`` of each label, in the shape of the counts; 0/0 = 0."""
        above, below = {
            "P": (self.hit, self.predicted),
            "R": (self.hit, self.true),
            "F1": (2 * self.hit, self.predicted + self.true),
        }[kind]
        return np.asarray(above / np.maximum(below, 1))


def classified(family: str, counts: LabelCounts, labels: npt.NDArray[np.bool_] | None = None) -> Floats:
    """Compute a metric of ``names.CLASSIFIED`` from counts (L,) or (L, B).

    A macro metric is a mean over ``labels`` (L,), or over all.

    Returns:
        () or (B,), each in [0, 1]; NaN where there is no label to average over.

    Source:
        ``Macro-F1-present``: Edin et al. 2023; ``Macro-F1-caml``: Mullenbach et al. 2018.
    """
    average, _, kind = family.partition("-")
    if average == "Micro":
        return LabelCounts(*(part.sum(axis=0) for part in (counts.hit, counts.predicted, counts.true))).ratios(kind)
    if kind == "F1-caml":
        precision, recall = (classified(f"Macro-{letter}", counts, labels) for letter in "PR")
        both = precision + recall
        return np.asarray(2 * precision * recall / np.where(both == 0, 1.0, both))
    ratios, true = counts.ratios(kind.removesuffix("-present")), counts.true
    if labels is not None:
        ratios, true = ratios[labels], true[labels]
    # The F1 of a label that is not present is 0 and adds nothing.
    number = np.asarray(np.count_nonzero(true, axis=0) if kind == "F1-present" else len(ratios))
    return np.where(number > 0, ratios.sum(axis=0) / np.maximum(number, 1), np.nan)


def labels_in_bins(
    num_labels: int, train_counts: npt.NDArray[np.integer] | None
) -> dict[str | None, npt.NDArray[np.bool_]]:
    """Return frequency bin -> mask of its labels (L,); None is all labels, and the only one without training counts.

    Of labels that only a name makes known, with the count -1, there are thousands that no text has: they are in none.
    """
    masks: dict[str | None, npt.NDArray[np.bool_]] = {
        None: np.ones(num_labels, bool) if train_counts is None else train_counts >= 0
    }
    if train_counts is not None:
        for name, (lowest, highest) in names.BINS.items():
            masks[name] = (train_counts >= lowest) & (train_counts <= (np.inf if highest is None else highest))
    return masks


class Predicted:
    """Predictions at one threshold, batch by batch: counts of each of L labels and, if ``keep``, the pairs.

    A label is predicted when its score is *greater* than the threshold.
    """

    def __init__(self, num_labels: int, threshold: float, *, keep: bool) -> None:
        self.counts = LabelCounts(*(np.zeros(num_labels, np.int64) for _ in range(3)))
        self._limit = np.float32(threshold)
        self._pairs: list[sp.csr_matrix] | None = [] if keep else None

    def add(self, scores: Scores | sp.csr_matrix, truth: sp.csr_matrix) -> None:
        """Add a batch: scores and 0/1 truth (B, L)."""
        counts, num_labels = self.counts, truth.shape[1]
        above: npt.NDArray[np.bool_] | sp.csr_matrix
        if sp.issparse(scores):
            above = scores.copy()
            above.data = (scores.data > self._limit).astype(np.float32)
            above.eliminate_zeros()
            counts.predicted += np.bincount(above.indices, minlength=num_labels)
            hits = above.multiply(truth).tocsr().indices
        else:
            above = scores > self._limit
            counts.predicted += above.sum(axis=0)
            hits = truth.indices[above[rows_of(truth), truth.indices]]
        counts.hit += np.bincount(hits, minlength=num_labels)
        counts.true += np.bincount(truth.indices, minlength=num_labels)
        if self._pairs is not None:
            self._pairs.append(sp.csr_matrix(above, dtype=np.float32))
            if counts.predicted.sum() > MOST_PAIRS:
                self._pairs = None

    def pairs(self) -> sp.csr_matrix | None:
        """Return them, 0/1 (N, L); None where they were not asked for, or are more than ``MOST_PAIRS``."""
        return None if self._pairs is None else sp.csr_matrix(sp.vstack(self._pairs, format="csr"))
