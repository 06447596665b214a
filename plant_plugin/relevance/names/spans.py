"""Stretches of a text that a coder would mark: a logistic model of each word and its neighbours, and spans of it.

Shapes: W words of a text, S spans, H hashed features.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.word_features import FEATURES, Integers, WordWeights, features_of

MOST, LONGEST = 64, 8  # spans of a text, and words of a span
LIKELY = 0.1  # probability of the first and the last word of a span, at least


class SpanDetector:
    """The weights of the hashed features, (H,), and the constant."""

    def __init__(self, weights: Floats, constant: float) -> None:
        self.weights, self.constant = weights, constant

    @cached_property
    def _weights(self) -> WordWeights:
        return WordWeights(self.weights)

    @classmethod
    def fit(
        cls, texts: Sequence[Sequence[str]], marked: Sequence[npt.NDArray[np.bool_]], seed: int = 0
    ) -> SpanDetector:
        """Learn from the words of texts (W,) which of them were marked (W,)."""
        from sklearn.linear_model import SGDClassifier  # slow to import

        truth = np.concatenate([np.empty(0, bool), *marked])
        if truth.all() or not truth.any():
            return cls(np.zeros(FEATURES, np.float32), 0.0)
        parts = [features_of(words) for words in texts if words]
        columns = np.concatenate([part.indices for part in parts])
        sizes = np.concatenate([np.diff(part.indptr) for part in parts])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)  # scikit-learn reads no others
        features = sp.csr_array((np.ones(len(columns), np.float32), columns, offsets), (len(truth), FEATURES))
        model = SGDClassifier(loss="log_loss", alpha=3e-6, max_iter=6, tol=None, average=True, random_state=seed)
        model.fit(features, truth)
        return cls(model.coef_[0].astype(np.float32), float(model.intercept_[0]))

    def probabilities(self, words: Sequence[str]) -> Floats:
        """Return the probability of each word that it would be marked, (W,)."""
        if not words:
            return np.empty(0, np.float32)
        logits = self._weights.sums(words) + np.float32(self.constant)
        return (1 / (1 + np.exp(-np.clip(logits, -30, 30)))).astype(np.float32)


def spans_of(probabilities: Floats, most: int = MOST) -> tuple[Integers, Floats]:
    """Return the likeliest spans of words (S, 2), first and the one after the last, and their scores (S,).

    A span is scored by the log probabilities of its words, over the square root of their number, and of its
    neighbours' not to be marked.
    """
    words = len(probabilities)
    likely = np.flatnonzero(probabilities > LIKELY)
    begins = np.repeat(likely, LONGEST)
    ends = begins + np.tile(np.arange(1, LONGEST + 1), len(likely))
    inside = ends <= words
    begins, ends = begins[inside], ends[inside]
    last = probabilities[ends - 1] > LIKELY
    begins, ends = begins[last], ends[last]
    marked, others = np.log(probabilities + 1e-4), np.log(1 - probabilities + 1e-4)
    sums = np.concatenate([[0], np.cumsum(marked)])
    scores = (sums[ends] - sums[begins]) / np.sqrt(ends - begins)
    padded = np.concatenate([[0], np.maximum(others, -2), [0]])
    scores = scores + 0.5 * (padded[begins] + padded[ends + 1])
    order = np.argsort(-scores, kind="stable")[:most]
    return np.stack([begins[order], ends[order]], axis=1), scores[order].astype(np.float32)
