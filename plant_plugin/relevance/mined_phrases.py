"""Phrases mined from training documents where nobody marked any: runs of words that go with a label.

Of a run w of one to three words and a label l that are together in two training documents or more::

    p(l | w) = (documents with w and l − 0.5) / (documents with w + 0.5)
    score of l in a text = −ln(1 − max_w p(l | w))

A decision list: the surest run decides, as the many others that stand in the same documents say the same again.

Shapes: N training documents, L labels, P runs.

Source: ours; decision lists: Rivest 1987, Yarowsky 1994 for words in context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.text import Spans
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.mutual_information import Arrays
from plant_plugin.relevance.phrases import Counts, Match, Phrases, words_of

LONGEST = 3  # words of a run
TOGETHER = 2  # training documents that hold a run and have the label, at least
SURE = 0.2  # p, at least
RARER = 3.0  # times that the label is more frequent with the run than without looking, at least
HITS, SEEN = -0.5, 0.5  # added to both counts
LABELS = 512  # labels whose counts are made at once


class MinedRuns(TypedDict):
    """What JSON holds of them."""

    runs: list[str]


class MinedPhrases(Phrases):
    """The runs of words of the training documents, with spaces between, and each one's counts with its labels."""

    kind, combine = "mined", np.maximum

    def __init__(self, runs: Sequence[str], counts: Counts) -> None:
        self.runs, self.counts = list(runs), counts
        self.num_labels = counts.hits.shape[1]
        self._number = {run: number for number, run in enumerate(self.runs)}

    @classmethod
    def fit(cls, texts: Sequence[str], labels: sp.csr_array) -> MinedPhrases:
        """Count runs and labels of the N training documents, and no others; ``labels`` (N, L) are sparse ones."""
        number: dict[str, int] = {}
        rows = [sorted({number.setdefault(run, len(number)) for run, _ in _runs(text)}) for text in texts]
        offsets = np.cumsum([0, *map(len, rows)])
        ones = np.ones(offsets[-1], dtype=np.float32)
        columns = np.array([run for row in rows for run in row], dtype=np.int64)
        holding = sp.csr_array((ones, columns, offsets), shape=(len(texts), len(number)))
        seen = np.bincount(columns, minlength=len(number))
        frequent = np.flatnonzero(seen >= TOGETHER)
        holding, seen = sp.csr_array(holding[:, frequent]), seen[frequent]
        share = labels.sum(axis=0) / len(texts)
        blocks = [
            _kept(holding, labels[:, start : start + LABELS], seen, share[start : start + LABELS])
            for start in range(0, labels.shape[1], LABELS)
        ]
        hits = sp.csr_array(sp.hstack(blocks, format="csr"))
        used = np.flatnonzero(np.diff(hits.indptr))
        names = list(number)
        counts = Counts(seen[used].astype(np.int32), hits[used], labels)
        return cls([names[frequent[run]] for run in used], counts)

    def __len__(self) -> int:
        return len(self.runs)

    def matches(self, text: str, own: int | None = None) -> Iterator[Match]:
        """Every run in a text; arguments as of :meth:`.Phrases.matches`."""
        places: dict[int, list[Spans]] = {}
        for run, spans in _runs(text):
            if (known := self._number.get(run)) is not None:
                places.setdefault(known, []).append(spans)
        for known, found in places.items():
            labels, hits, seen = self.counts.of(known, own)
            if own is not None:
                together = hits >= TOGETHER
                labels, hits = labels[together], hits[together]
            if len(labels):
                yield Match.of(labels, (hits + HITS) / (seen + SEEN), found)

    def without_rare(self, least: int) -> MinedPhrases:
        """See :meth:`.Phrases.without_rare`."""
        kept = np.flatnonzero(self.counts.seen >= least)
        return MinedPhrases([self.runs[run] for run in kept.tolist()], self.counts.of_phrases(kept))

    def content(self) -> tuple[MinedRuns, Arrays]:
        """See :meth:`.Phrases.content`."""
        return {"runs": self.runs}, self.counts.arrays()

    @classmethod
    def from_content(cls, words: MinedRuns, arrays: ArrayFile, num_labels: int) -> MinedPhrases:
        """The phrases that :meth:`content` described; errors as of :meth:`.Counts.from_arrays`."""
        return cls(words["runs"], Counts.from_arrays(arrays, len(words["runs"]), num_labels))


def _kept(
    holding: sp.csr_array, labels: sp.csr_array, seen: npt.NDArray[np.integer], share: npt.NDArray[np.floating]
) -> sp.csr_array:
    """Counts (P, l) of the runs and a block of labels, of the pairs that tell enough."""
    counts = sp.coo_array(holding.T @ labels)
    runs, columns = counts.coords
    p = (counts.data + HITS) / (seen[runs] + SEEN)
    kept = (counts.data >= TOGETHER) & (p >= SURE) & (p >= RARER * share[columns])
    data = counts.data[kept].astype(np.float32)
    return sp.csr_array(sp.coo_array((data, (runs[kept], columns[kept])), shape=counts.shape))


def _runs(text: str) -> Iterator[tuple[str, Spans]]:
    """Every run of words of a text, and where its words stand."""
    words, places = words_of(text)
    for length in range(1, LONGEST + 1):
        for first in range(len(words) - length + 1):
            yield " ".join(words[first : first + length]), places[first : first + length]
