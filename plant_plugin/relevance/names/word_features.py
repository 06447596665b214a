"""Hashed features of words and their neighbours, for :mod:`.spans`.

Shapes: W words of a text, H hashed features.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

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
