"""Vectors of texts as sums of those of their words, each of which is looked up once.

Shapes: N texts, D numbers of a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from plant_plugin.relevance.mutual_information import Floats

KEPT = 50_000  # words whose vectors are kept
LEAST = 1e-12  # length that a vector is divided by


def vectors_of(texts: Sequence[Sequence[str]], of_word: Callable[[str], Floats], size: int) -> Floats:
    """Return the vectors of texts that are given as words, of length 1, or 0 where there is no word, (N, D)."""
    place_of: dict[str, int] = {}
    places = [place_of.setdefault(word, len(place_of)) for words in texts for word in words]
    vectors = np.array([of_word(word) for word in place_of], dtype=np.float32).reshape(-1, size)
    entries = np.ones(len(places), np.float32), places, np.cumsum([0, *map(len, texts)])
    sums = sp.csr_array(entries, (len(texts), len(place_of))) @ vectors
    of_texts: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), LEAST)
    return of_texts
