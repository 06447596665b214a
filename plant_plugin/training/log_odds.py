"""Fit what makes sums of a model's parts log odds, on validation documents: how often it is right.

A line is not enough: sums of likely labels tell less than those of unlikely ones. So there is a slope above the
threshold of micro-F1 and one below. Labels keep their order, and thresholds what they predict.

Source: Platt 1999, "Probabilistic outputs for support vector machines", with his targets that are never quite 0 or 1.

Shapes: B documents, L labels, E pairs of a document and a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.calibration import pairs_of
from plant_plugin.evaluation.store import Matrix
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.relevance.log_odds import NOT_FITTED, LogOdds
from plant_plugin.training.inputs import Floats

Batches = Iterable[tuple[Matrix, Matrix]]  # scores and truth (B, L)
Numbers = npt.NDArray[np.float64]

SUMS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)  # all that pairs are told apart by
LIMITS = np.finfo(np.float16).min, np.finfo(np.float16).max
AMONG = 100  # highest pairs for each true one: of the others, nearly all, next to none is true, wherever it lies
LEAST = 1e-3  # slope, of a column that is divided by its standard deviation
# Of the logistic regression: nearly no regularisation; its usual tolerance is too much where so few pairs are true.
REGULARISATION, TOLERANCE, STEPS = 1000.0, 1e-7, 1000


class Pairs:
    """How many pairs of documents and labels have a sum, and how many of these are true."""

    def __init__(self) -> None:
        self._counts, self._true = np.zeros((2, len(SUMS)))

    def counted(self, batches_of: Callable[[], Batches] | None) -> Callable[[], Batches] | None:
        """Return what starts the same pass, and counts its pairs."""
        return None if batches_of is None else lambda: self._counting(batches_of())

    def _counting(self, batches: Batches) -> Iterator[tuple[Matrix, Matrix]]:
        for scores, truth in batches:
            sums, true = pairs_of(scores, truth)
            places = sums.clip(*LIMITS).astype(np.float16).view(np.uint16)
            self._counts += np.bincount(places, minlength=len(SUMS))
            self._true += np.bincount(places[true], minlength=len(SUMS))
            yield scores, truth

    def fitted(self, threshold: float) -> LogOdds:
        """Fit what makes sums log odds: those at the threshold of micro-F1, and a slope on either side of it."""
        there = np.flatnonzero(self._counts)
        if not len(there):
            return NOT_FITTED
        best = there[np.argsort(-SUMS[there])]
        best = best[: np.searchsorted(self._counts[best].cumsum(), AMONG * self._true.sum()) + 1]
        sums, counts, true = SUMS[best] - np.float64(threshold), self._counts[best], self._true[best]
        yes, no = true.sum(), (counts - true).sum()
        shares = (true * (yes + 1) / (yes + 2) + (counts - true) / (no + 2)) / counts
        sides = np.stack([sums.clip(max=0), sums.clip(min=0)], axis=1)
        weights = np.concatenate([counts * shares, counts * (1 - shares)])
        (below, above), at_offset = _fitted(np.tile(sides, (2, 1)), np.repeat([True, False], len(sums)), weights)
        return LogOdds(threshold, below, above, at_offset)


def in_log_odds(tuned: Tuned, pairs: Pairs) -> tuple[LogOdds, Tuned]:
    """Return what makes sums log odds, and the thresholds of these, which predict what they predicted."""
    made = pairs.fitted(tuned.thresholds["micro"])
    values = made.of(np.array(list(tuned.thresholds.values()), dtype=np.float32)).tolist()
    f1 = {name: tuned.f1[name] for name in tuned.thresholds}  # that at the probability 0.5 was of the sums
    return made, Tuned(dict(zip(tuned.thresholds, values, strict=True)), tuned.documents, f1)


def log_odds_of(scores: Floats, truth: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the slope and the constant that make scores (E,) log odds of being true."""
    if not truth.std():
        return 1.0, 0.0
    (slope,), constant = _fitted(scores[:, None], truth, np.ones(len(scores)))
    return slope, constant


def _fitted(columns: Floats | Numbers, truth: npt.NDArray[np.bool_], weights: Numbers) -> tuple[list[float], float]:
    """Fit the slope of each column (E, C), and a constant, by logistic regression of rows that stand for so many each.

    Slopes are above 0, also where the less likely have the higher scores, so that labels keep their order.
    """
    from sklearn.linear_model import LogisticRegression  # slow to import

    spread = columns.std(axis=0)
    spread[spread == 0] = 1
    model = LogisticRegression(C=REGULARISATION, tol=TOLERANCE, max_iter=STEPS)
    model.fit(columns / spread, truth, sample_weight=weights)
    return (model.coef_[0].clip(min=LEAST) / spread).tolist(), model.intercept_.item()
