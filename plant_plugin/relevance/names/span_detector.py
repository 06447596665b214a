"""Stretches of a text that a coder would mark: a logistic model of each word and its neighbours, and spans of it.

Shapes: W words of a text, S spans, H hashed features.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats

FEATURES = 1 << 18
LETTERS, RUN = 6, 4  # of a stem, and of a run of letters
# Primes that tell the roles of a word apart: itself, the words before and after it, their stems, pairs and three.
ROLES = (3, 7919, 104_729, 1_299_709, 15_485_863, 179_424_673, 2_038_074_743, 982_451_653, 32_452_843, 49_979_687)
AROUND = ("<s>", "<s>"), ("</s>", "</s>")
KEPT = 200_000  # words whose runs are summed once
MOST, LONGEST = 64, 8  # spans of a text, and words of a span
LIKELY = 0.1  # probability of the first and the last word of a span, at least

Integers = npt.NDArray[np.int64]


def features_of(words: Sequence[str]) -> sp.csr_array:
    """Return the hashed features of each word and its neighbours, (W, H) of ones."""
    fixed, runs = _fixed(words), [_runs(word) for word in words]
    sizes = np.array([fixed.shape[1] + len(of_word) for of_word in runs])
    columns = np.concatenate([np.concatenate([row, of_word]) for row, of_word in zip(fixed, runs, strict=True)])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    entries = np.ones(len(columns), np.float32), columns.astype(np.int32), offsets
    return sp.csr_array(entries, shape=(len(words), FEATURES))


class WordWeights:
    """Weights of the features, (H,), of which a word's runs of letters are summed once."""

    def __init__(self, weights: Floats) -> None:
        self.weights = weights
        self._of_runs = lru_cache(KEPT)(lambda word: float(weights[_runs(word)].sum()))

    def sums(self, words: Sequence[str]) -> Floats:
        """Return the sum of the weights of each word's features, (W,): the product of these and the weights."""
        sums: Floats = self.weights[_fixed(words)].sum(axis=1)
        return sums + np.array([self._of_runs(word) for word in words], dtype=np.float32)


def _fixed(words: Sequence[str]) -> Integers:
    """Return the features that all words have as many of, (W, roles)."""
    hashes = np.array([_hashes(word) for word in (*AROUND[0], *words, *AROUND[1])], dtype=np.int64)
    whole, stem = hashes[:, 0], hashes[:, 1]
    middle = slice(2, -2)
    before, after = stem[1:-3], stem[3:-1]
    fixed = np.stack([
        whole[middle] * ROLES[0], before * ROLES[1], after * ROLES[2], stem[:-4] * ROLES[3], stem[4:] * ROLES[4],
        stem[middle] * ROLES[5], before * ROLES[6] + stem[middle], stem[middle] * ROLES[7] + after,
        (before * ROLES[8] + stem[middle]) * 31 + after,
        np.array([min(len(word), 8) for word in words], dtype=np.int64) * ROLES[9],
    ], axis=1)  # fmt: skip
    return (fixed ^ (fixed >> 17)) % FEATURES


@lru_cache(maxsize=200_000)
def _hashes(word: str) -> tuple[int, int]:
    return zlib.crc32(word.encode()), zlib.crc32(b"stem " + word[:LETTERS].encode())


@lru_cache(maxsize=200_000)
def _runs(word: str) -> Integers:
    whole = f"<{word}>"
    runs = [whole[start : start + RUN] for start in range(len(whole) - RUN + 1)]
    return np.array([zlib.crc32(b"run " + run.encode()) % FEATURES for run in runs], dtype=np.int64)


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
