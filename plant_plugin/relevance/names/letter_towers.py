"""Two towers over letters: words of a text and a name that means them are near each other.

Both towers are one table: the sum of the vectors of runs of three to five letters, of length 1. It is trained on pairs
that mean the same, each against the other names of its batch.

Shapes: B pairs, D numbers of a vector, R rows of the table.

Source: Bojanowski et al. 2017 (runs of letters); van den Oord et al. 2018, eq. (4) (InfoNCE).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial

import numpy as np
import scipy.sparse as sp
import torch

from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.touched_rows import TouchedRows

KEPT = 50_000  # words whose vectors are kept
LEAST = 1e-12  # length that a vector is divided by
ROWS, SIZE = 1 << 16, 48
LENGTHS = (3, 4, 5)
EPOCHS, BATCH, RATE, TEMPERATURE = 3, 256, 0.01, 0.07


def vectors_of(texts: Sequence[Sequence[str]], of_word: Callable[[str], Floats], size: int) -> Floats:
    """Return the vectors of texts that are given as words, of length 1, or 0 where there is no word, (N, D)."""
    place_of: dict[str, int] = {}
    places = [place_of.setdefault(word, len(place_of)) for words in texts for word in words]
    vectors = np.array([of_word(word) for word in place_of], dtype=np.float32).reshape(-1, size)
    entries = np.ones(len(places), np.float32), places, np.cumsum([0, *map(len, texts)])
    sums = sp.csr_array(entries, (len(texts), len(place_of))) @ vectors
    of_texts: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), LEAST)
    return of_texts


class Towers:
    """The table, (R, D)."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table = table

    @classmethod
    def fit(cls, pairs: Sequence[tuple[Sequence[str], Sequence[str], str]], seed: int = 0) -> Towers:
        """Train on pairs of words, each with the label of both; those of one label are no negatives of each other."""
        table = TouchedRows(torch.randn(ROWS, SIZE, generator=torch.Generator().manual_seed(seed)) * 0.1)
        _, number = np.unique([label for *_, label in pairs], return_inverse=True)
        labels = torch.from_numpy(number)
        rows = [[np.array(rows_of(words), np.int64) for words in pair[:2]] for pair in pairs]
        batch = min(BATCH, len(pairs))
        steps, step = max(1, EPOCHS * (len(pairs) // max(1, batch))), 0
        drawn = np.random.default_rng(seed)
        for _ in range(EPOCHS if batch > 1 else 0):
            order = drawn.permutation(len(pairs))
            for start in range(0, len(pairs) - batch + 1, batch):
                chosen = order[start : start + batch]
                alike = labels[chosen][:, None] == labels[chosen]
                summands = [rows[pair][side] for side in (0, 1) for pair in chosen]
                table.step(summands, partial(_loss, alike=alike), RATE * (1 - step / steps))
                step += 1
        return cls(table.table)

    @cached_property
    def _of_word(self) -> Callable[[str], Floats]:
        table = self.table.numpy()
        return lru_cache(KEPT)(lambda word: table[list(_rows_of_word(word))].sum(axis=0))

    def vectors(self, texts: Sequence[Sequence[str]]) -> Floats:
        """Return the vectors of texts that are given as words, (N, D)."""
        return vectors_of(texts, self._of_word, SIZE)


def _loss(sums: torch.Tensor, alike: torch.Tensor) -> torch.Tensor:
    """Compute InfoNCE of pairs, firsts and then seconds (2 B, D), in both directions; (B, B) are alike."""
    first, second = torch.nn.functional.normalize(sums, dim=1).chunk(2)
    near = (first @ second.T / TEMPERATURE).masked_fill(alike.fill_diagonal_(False), -1e9)
    target = torch.arange(len(near))
    losses = [torch.nn.functional.cross_entropy(each, target) for each in (near, near.T)]
    return (losses[0] + losses[1]) / 2


def rows_of(words: Sequence[str]) -> list[int]:
    """Return the rows of the table that hold the runs of letters of words."""
    return [row for word in words for row in _rows_of_word(word)]


@lru_cache(maxsize=500_000)
def _rows_of_word(word: str) -> tuple[int, ...]:
    whole = f"<{word}>"
    runs = [whole[start : start + length] for length in LENGTHS for start in range(len(whole) - length + 1)]
    return tuple(zlib.crc32(run.encode()) % ROWS for run in [*runs, whole])
