"""Do an explanation's words agree with those that coders marked? Measures over pairs of document and label.

A pair brings the strength of each word and which words were marked. Precision, recall, F1 and IoU are those of the
words whose strength is at least a share of the strongest word's, which has to be chosen on other documents. Average
precision and hits need no threshold.

Source: DeYoung et al. 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models, section 4 (agreement with human
rationales: token F1, IoU, area under the precision-recall curve).

Shapes: W words of a document, P pairs, G shares that are tried, D documents, M measures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Numbers = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]

SHARES = np.arange(1, 101) / 100  # of the strongest word
RANKS = (1, 5)
SET_MEASURES = ("precision", "recall", "F1", "IoU")
MEASURES = (*SET_MEASURES, "AP", *(f"hit@{rank}" for rank in RANKS))


def marked_words(words: npt.NDArray[np.int64], spans: Sequence[tuple[int, int]]) -> Marks:
    """Mark which words (W, 2) share a character with one of the spans, (W,)."""
    marked = np.zeros(len(words), dtype=bool)
    for start, end in spans:
        marked |= (words[:, 0] < end) & (words[:, 1] > start)
    return marked


def shares_of_strongest(strength: Floats) -> Numbers:
    """Divide strengths (W,) by the highest; values below 0, or all where none is above 0, become 0."""
    highest = float(strength.max(initial=0))
    return np.maximum(strength, 0) / highest if highest > 0 else np.zeros(len(strength))


def average_precision(strength: Floats, marked: Marks) -> float:
    """Sum, over the distinct strengths, the highest first, of the recall gained there times the precision there."""
    order = np.argsort(-strength, kind="stable")
    hits = marked[order].cumsum()
    ends = np.append(np.flatnonzero(np.diff(strength[order])), len(order) - 1)  # the last word of each strength
    gained = np.diff(hits[ends], prepend=0) / hits[-1]
    return float((gained * hits[ends] / (ends + 1)).sum())


def hit_at(strength: Floats, marked: Marks, rank: int) -> float:
    """Tell whether one of the ``rank`` strongest words is marked.

    It is a probability where equals share the last ranks.
    """
    if rank >= len(strength):
        return float(marked.any())
    least = np.partition(strength, -rank)[-rank]
    above, equal = strength > least, strength == least
    if marked[above].any():
        return 1.0
    free, places = int(equal.sum()), rank - int(above.sum())
    unmarked = free - int(marked[equal].sum())
    return 1.0 - math.comb(unmarked, places) / math.comb(free, places)


class OrderedPairs:
    """The hits of P pairs in order of strength, at least one word of each marked, ready for any share as threshold."""

    def __init__(self, strengths: Sequence[Floats], marked: Sequence[Marks]) -> None:
        chosen, hits, ranked = [], [], []
        for strength, marks in zip(strengths, marked, strict=True):
            share = shares_of_strongest(strength)
            order = np.argsort(share, kind="stable")
            below = np.searchsorted(share[order], SHARES)  # words that each share leaves out
            chosen.append(len(share) - below)
            hits.append(np.append(marks[order][::-1].cumsum()[::-1], 0)[below])
            ranked.append([average_precision(strength, marks), *(hit_at(strength, marks, rank) for rank in RANKS)])
        self._chosen, self._hits = np.array(chosen, np.float64), np.array(hits, np.float64)  # (P, G)
        self._marked = np.array([marks.sum() for marks in marked], np.float64)[:, None]
        self._words = np.array([len(marks) for marks in marked], np.float64)[:, None]
        self._ranked = np.array(ranked)

    def best_share(self) -> float:
        """Return the share with the highest mean F1 over the pairs; of equals the smallest."""
        f1 = 2 * self._hits / (self._chosen + self._marked)
        return float(SHARES[int(f1.mean(axis=0).argmax())])

    def curve(self) -> Numbers:
        """Return the mean share of the words named, and mean recall, with each of ``SHARES`` as threshold, (G, 2)."""
        return np.column_stack([(self._chosen / self._words).mean(axis=0), (self._hits / self._marked).mean(axis=0)])

    def values(self, share: float) -> Numbers:
        """Compute ``MEASURES`` of each pair, (P, M), with one of ``SHARES`` as threshold; precision of no word is 0."""
        place = int(np.abs(SHARES - share).argmin())
        chosen, hits, marked = self._chosen[:, place], self._hits[:, place], self._marked[:, 0]
        either = chosen + marked - hits
        sets = [hits / np.maximum(chosen, 1), hits / marked, 2 * hits / (chosen + marked), hits / either]
        return np.column_stack([*sets, self._ranked])


def bootstrap_means(values: Numbers, documents: npt.NDArray[np.integer], *, seed: int = 0) -> npt.NDArray[np.float64]:
    """Compute means over pairs (P, M) with 95 % percentile intervals.

    ``documents`` (P,) are drawn with replacement 1,000 times.

    Returns:
        (3, M): mean, lower and upper end.
    """
    _, place = np.unique(documents, return_inverse=True)
    number = int(place.max()) + 1
    sums = np.zeros((number, values.shape[1] + 1))
    np.add.at(sums, place, np.column_stack([values, np.ones(len(values))]))
    draws = np.random.default_rng(seed).multinomial(number, np.full(number, 1 / number), size=1000) @ sums
    low, high = np.quantile(draws[:, :-1] / draws[:, -1:], [0.025, 0.975], axis=0)
    return np.stack([values.mean(axis=0), low, high])
