"""Phrases mined from training documents where nobody marked any: runs of words that go with a label.

Of a run w of one to three words and a label l that are together in two training documents or more::

    p(l | w) = (documents with w and l − 0.5) / (documents with w + 0.5)
    score of l in a text = −ln(1 − max_w p(l | w))

A decision list: the surest run decides, as the many others that stand in the same documents say the same again.

A training document that asks is left out of every count, and of what makes a pair: two documents, p of ``SURE`` at
least, and the label ``RARER`` times as frequent as elsewhere. So pairs are kept that only such a document knows of.

Shapes: N training documents, L labels, P runs.

Source: ours; decision lists: Rivest 1987, Yarowsky 1994 for words in context.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from typing_extensions import TypedDict

from plant_plugin.data.batches import gather
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
    """The part of mined phrases that JSON holds."""

    runs: list[str]


class MinedPhrases(Phrases):
    """The runs of words of the training documents, with spaces between, and each one's counts with its labels.

    Args:
        runs: The P runs.
        counts: Of theirs, with the pairs that tell enough to some document.
        telling: Whether each stored pair tells enough to a document that is none of the training ones; None: all.
    """

    kind, combine = "mined", np.maximum

    def __init__(self, runs: Sequence[str], counts: Counts, telling: npt.NDArray[np.bool_] | None = None) -> None:
        self.runs, self.counts = list(runs), counts
        self.num_labels = counts.hits.shape[1]
        self._telling = np.ones(counts.hits.nnz, dtype=bool) if telling is None else telling
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
        documents = labels.sum(axis=0)
        blocks = [
            _kept(holding, labels[:, start : start + LABELS], seen, documents[start : start + LABELS])
            for start in range(0, labels.shape[1], LABELS)
        ]
        hits = sp.csr_array(sp.hstack(blocks, format="csr"))
        used = np.flatnonzero(np.diff(hits.indptr))
        names, counts = list(number), Counts(seen[used].astype(np.int32), sp.csr_array(hits[used]), labels)
        hits, of_pair = counts.hits, np.repeat(counts.seen, np.diff(counts.hits.indptr))
        telling = tells_enough(hits.data, of_pair, documents[hits.indices], len(texts))
        return cls([names[frequent[run]] for run in used], counts, telling)

    def __len__(self) -> int:
        return len(self.runs)

    def match(self, text: str, left_out: int | None) -> Iterator[Match]:
        """Every run in a text; arguments as of :meth:`.Phrases.matches`."""
        places: dict[int, list[Spans]] = {}
        for run, spans in _runs(text):
            if (known := self._number.get(run)) is not None:
                places.setdefault(known, []).append(spans)
        if not places:
            return
        rows, stored = np.fromiter(places, np.int64, len(places)), self.counts.hits  # all runs at once: they are many
        entries, sizes = gather(stored.indptr, rows)
        ends = np.cumsum(sizes)
        labels, hits, seen = stored.indices[entries], stored.data[entries].astype(np.float64), self.counts.seen[rows]
        if left_out is None:
            telling = self._telling[entries]
        else:  # it is in none of the counts
            has_label, (documents, number) = np.isin(labels, self.counts.labels_of(left_out)), self._documents
            hits, seen = hits - has_label, seen - 1
            telling = tells_enough(hits, np.repeat(seen, sizes), documents[labels] - has_label, number - 1)
        p = (hits + HITS) / (np.repeat(seen, sizes) + SEEN)
        for occurrences, start, end in zip(places.values(), ends - sizes, ends, strict=True):
            if (mine := telling[start:end]).any():
                yield Match.of(labels[start:end][mine], p[start:end][mine], occurrences)

    @cached_property
    def _documents(self) -> tuple[npt.NDArray[np.number], int]:
        """Return the number of training documents of each label, (L,), and of all."""
        assert self.counts.labels is not None  # `labels_of` was asked
        return self.counts.labels.sum(axis=0), self.counts.labels.shape[0]

    def without_rare(self, least: int) -> MinedPhrases:
        """See :meth:`.Phrases.without_rare`."""
        return self._only(self.counts.seen >= least)

    def content(self) -> tuple[MinedRuns, Arrays]:
        """See :meth:`.Phrases.content`."""
        saved = self._only(np.ones(len(self), dtype=bool))
        return {"runs": saved.runs}, saved.counts.arrays()

    def _only(self, chosen: npt.NDArray[np.bool_]) -> MinedPhrases:
        """Return the phrases of some runs (P,), as documents that are none of the training ones meet them."""
        hits = self.counts.hits.tocoo()
        pairs = self._telling & chosen[hits.coords[0]]
        parts = hits.data[pairs], tuple(place[pairs] for place in hits.coords)
        hits_left = sp.csr_array(sp.coo_array(parts, shape=hits.shape))
        used = np.flatnonzero(np.diff(hits_left.indptr))
        counts = Counts(self.counts.seen[used], sp.csr_array(hits_left[used]))
        return MinedPhrases([self.runs[run] for run in used.tolist()], counts)

    @classmethod
    def from_content(cls, words: MinedRuns, arrays: ArrayFile, num_labels: int) -> MinedPhrases:
        """The phrases that :meth:`content` described; errors as of :meth:`.Counts.from_arrays`."""
        return cls(words["runs"], Counts.from_arrays(arrays, len(words["runs"]), num_labels))


def tells_enough(
    hits: npt.NDArray[np.number],
    seen: npt.NDArray[np.integer] | int,
    documents: npt.NDArray[np.number],
    number: int,
) -> npt.NDArray[np.bool_]:
    """Decide which pairs count, from documents with run and label, with the run, with the label, and all."""
    p = (hits + HITS) / (seen + SEEN)
    enough: npt.NDArray[np.bool_] = (hits >= TOGETHER) & (p >= SURE) & (p >= RARER * documents / max(1, number))
    return enough


def _kept(
    holding: sp.csr_array, labels: sp.csr_array, seen: npt.NDArray[np.integer], documents: npt.NDArray[np.number]
) -> sp.csr_array:
    """Counts (P, l) of the runs and a block of labels, of the pairs that tell enough to some document.

    A document that has the run and not the label leaves fewer documents with the run, and as many with both.
    """
    counts, number = sp.coo_array(holding.T @ labels), holding.shape[0]
    runs, columns = counts.coords
    telling = tells_enough(counts.data, seen[runs], documents[columns], number)
    telling |= tells_enough(counts.data, seen[runs] - 1, documents[columns], number - 1)
    data = counts.data[telling].astype(np.float32)
    return sp.csr_array(sp.coo_array((data, (runs[telling], columns[telling])), shape=counts.shape))


def _runs(text: str) -> Iterator[tuple[str, Spans]]:
    """Every run of words of a text, and where its words stand."""
    words, places = words_of(text)
    for length in range(1, LONGEST + 1):
        for first in range(len(words) - length + 1):
            yield " ".join(words[first : first + length]), places[first : first + length]
