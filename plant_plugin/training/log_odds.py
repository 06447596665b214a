"""Fit what makes sums of a model's parts log odds, on validation documents: how often it is right.

The threshold of micro-F1 has to stay the probability 0.5, and labels their order. So in the place of a slope and a
constant there are a slope above that threshold and one below.

Source: Platt 1999, "Probabilistic outputs for support vector machines", with his targets that are never quite 0 or 1.

Shapes: B documents, L labels, E pairs of a document and a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.calibration import pairs_of
from plant_plugin.evaluation.store import Matrix
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.training.inputs import Floats

Batches = Iterable[tuple[Matrix, Matrix]]  # scores and truth (B, L)
Numbers = npt.NDArray[np.float64]

SUMS = np.arange(1 << 16, dtype=np.uint16).view(np.float16)  # all that pairs are told apart by
LIMITS = np.finfo(np.float16).min, np.finfo(np.float16).max
FLATTEST = 1.0  # log odds of the sum that is furthest from the threshold, at least
REGULARISATION = 1000.0  # of the logistic regression: nearly none


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

    def slopes(self, threshold: float) -> dict[str, float]:
        """Fit ``slope_below`` and ``slope_above`` the threshold of micro-F1, where sums are the log odds 0."""
        there = self._counts > 0
        sums, counts, true = SUMS[there] - np.float64(threshold), self._counts[there], self._true[there]
        sides = {"slope_below": sums <= 0, "slope_above": sums > 0}
        return {name: _slope(sums[side], counts[side], true[side]) for name, side in sides.items()}


def in_log_odds(planted: PlantedScores, tuned: Tuned, pairs: Pairs) -> tuple[PlantedScores, Tuned]:
    """Return planted scores with offset and slopes, and the thresholds of the log odds that they make."""
    offset = tuned.thresholds["micro"]
    planted = replace(planted, offset=offset, **pairs.slopes(offset))  # type: ignore[arg-type]
    centred = tuned.centred()
    values = np.array(list(centred.thresholds.values()), dtype=np.float32)
    planted.make_log_odds(values)
    return planted, centred._replace(thresholds=dict(zip(centred.thresholds, values.tolist(), strict=True)))


def log_odds_of(scores: Floats, truth: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the slope and the constant that make scores (E,) log odds of being true."""
    if not truth.std():
        return 1.0, 0.0
    return _fitted(scores, truth, np.ones(len(scores)), constant=True)


def _slope(sums: Numbers, counts: Numbers, true: Numbers) -> float:
    """Return the slope with which sums, from the threshold on, are log odds of being true; 1 where there are none.

    Labels stay apart, also where so few on the side are right that all would best be at the threshold; and where all
    are right, so many pairs tell of no more than so many.
    """
    if not sums.any():
        return 1.0
    yes, no = true.sum(), (counts - true).sum()
    shares = (true * (yes + 1) / (yes + 2) + (counts - true) / (no + 2)) / counts
    weights = np.concatenate([counts * shares, counts * (1 - shares)])
    slope, _ = _fitted(np.tile(sums, 2), np.repeat([True, False], len(sums)), weights, constant=False)
    distances = np.abs(sums)
    steepest = np.log1p(counts.sum()) / np.average(distances, weights=counts)
    return float(max(min(slope, steepest), FLATTEST / distances.max()))


def _fitted(
    scores: Floats | Numbers, truth: npt.NDArray[np.bool_], weights: Numbers, *, constant: bool
) -> tuple[float, float]:
    """Fit slope and constant by logistic regression of scores (E,) that stand for so many each."""
    from sklearn.linear_model import LogisticRegression  # slow to import

    spread = float(scores.std()) or 1.0
    model = LogisticRegression(C=REGULARISATION, fit_intercept=constant)
    model.fit(scores[:, None] / spread, truth, sample_weight=weights)
    return max(model.coef_.item(), 1e-3) / spread, float(np.squeeze(model.intercept_))
