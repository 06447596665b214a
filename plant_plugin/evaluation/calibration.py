"""Are probabilities what they say? Of all labels that get 0.8, eight in ten have to be true.

Pairs of documents and labels are sorted into bins by their probability. The *expected calibration error* (ECE) is the
distance between the mean probability and the share of true pairs in a bin, averaged over bins by their pairs. Nearly
all pairs are of labels that are near 0 and wrong, so it is small of any model with many labels; of the pairs that are
predicted, with a probability of 0.5 or more, it stands beside it.

Source: Naeini et al. 2015 and Guo et al. 2017, with bins of equal width; DeGroot and Fienberg 1983 for the curve.

Shapes: B documents, L labels, E pairs of these that are scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit
from typing_extensions import TypedDict

from plant_plugin.evaluation.store import Matrix, checked

BINS = 10
Floats = npt.NDArray[np.float32]
Batch = TypeVar("Batch", bound=Sequence[Any])  # scores and truth (B, L) first


class Bin(TypedDict):
    """A part of the reliability curve."""

    below: float  # probabilities are less than this, and no less than that of the bin before
    pairs: int
    probability: float  # mean
    true: float  # share of the pairs


class Calibrated(TypedDict):
    """What is known of the probabilities of a split."""

    ECE: float  # of all pairs that were scored
    ECE_predicted: float  # of those with a probability of 0.5 or more; 0 where there are none
    curve: list[Bin]  # without empty bins


def pairs_of(scores: Matrix, truth: Matrix) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return scores of pairs and whether these are true, (E,) each; without what is not scored (-inf, not stored)."""
    scores, truth = checked(scores, truth)
    if sp.issparse(scores):
        rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
        values, true = scores.data, np.asarray(truth[rows, scores.indices]).ravel() > 0
    else:
        values, true = scores.ravel(), truth.toarray().ravel() > 0
    scored = ~np.isneginf(values)
    return values[scored], true[scored]


class Calibration:
    """Counts pairs batch by batch; nothing else is kept."""

    def __init__(self) -> None:
        self._sums = np.zeros((3, BINS))  # pairs, probabilities, true pairs

    def reading(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches, and count their pairs."""
        for batch in batches:
            self.update(batch[0], batch[1])
            yield batch

    def update(self, scores: Matrix, truth: Matrix) -> None:
        """Add scores (B, L), logits, and their truth."""
        logits, true = pairs_of(scores, truth)
        probabilities = expit(logits.astype(np.float64))
        bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
        for row, weights in enumerate((None, probabilities, true)):
            self._sums[row] += np.bincount(bins, weights, BINS)

    def compute(self) -> Calibrated:
        """Compute the errors and the curve."""
        pairs, probabilities, true = self._sums
        distance = np.abs(probabilities - true)
        high = slice(BINS // 2, None)
        curve = [
            Bin(
                below=float(place + 1) / BINS,
                pairs=int(pairs[place]),
                probability=float(probabilities[place] / pairs[place]),
                true=float(true[place] / pairs[place]),
            )
            for place in np.flatnonzero(pairs)
        ]
        return Calibrated(
            ECE=float(distance.sum() / max(1, pairs.sum())),
            ECE_predicted=float(distance[high].sum() / max(1, pairs[high].sum())),
            curve=curve,
        )
