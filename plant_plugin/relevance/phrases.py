"""Planted phrases: stretches that coders marked in training documents, found again in any text, speak for labels.

Every marked stretch is a *phrase*: the set of its words, without accents and the most frequent words. A text holds a
phrase where all its words stand close together, in any order; it is read twice, by whole words and by their first
letters, so that inflected words match too. Of a phrase w and a label l that it was marked for::

    p(l | w) = (documents with w and l + 0.1) / (documents with w + 0.5)
    score of l in a text = Σ_w −ln(1 − p(l | w))     p less where a matched phrase holds all words of w and more

Shapes: N training documents, L labels, P phrases.

Source: method §9; the sum is a noisy-or, so that each match adds a share of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from annotated_types import MinLen
from typing_extensions import TypedDict

from plant_plugin.data.last_texts import of_last_texts
from plant_plugin.data.plain_words import plain_words
from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.evaluation.arrays import NUMBERS, WHOLE, ArrayFile
from plant_plugin.relevance.mutual_information import Arrays, Floats, Small

words_of = plain_words  # where its users look for it
READINGS = (None, 6)  # letters kept of each word: all, or the first ones
FREQUENT = 0.4  # words in more than this share of the training documents are part of no phrase
GAP = 12  # words between two spans of one label that are still one phrase
SLACK = 6  # words that may stand between those of a phrase
HITS, SEEN = 0.1, 0.5  # added to both counts
INSIDE = 0.85  # of p, for a phrase inside a longer one that matches too
MOST = 0.999  # p counts no more than this

Probabilities = npt.NDArray[np.float64]


class Match(NamedTuple):
    """A phrase in a text."""

    labels: Small  # (k,) columns of the labels that it speaks for
    shares: Floats  # (k,) −ln(1 − p), what it adds to the score of each
    spans: list[Spans]  # where its words stand, in characters; one list for each time that it is there

    @classmethod
    def of(cls, labels: Small, p: Probabilities, spans: list[Spans]) -> Match:
        """From p of each label."""
        return cls(labels, -np.log1p(-np.minimum(p, MOST)).astype(np.float32), spans)


@dataclass(eq=False, repr=False)
class Counts:
    """In how many training documents phrases stand, and in how many of them beside which label."""

    seen: Small  # (P,) training documents that hold each phrase
    hits: sp.csr_array  # (P, L) those that hold it and have the label, of the pairs that are kept
    labels: sp.csr_array | None = None  # (N, L) of the training documents; None: these are not asked for any more

    def entries(self, phrase: int) -> slice:
        """Return the entries of ``hits`` that hold the labels of a phrase."""
        return slice(self.hits.indptr[phrase], self.hits.indptr[phrase + 1])

    def labels_of(self, document: int) -> Small:
        """Return the columns of the labels of a training document."""
        if self.labels is None:
            raise ValueError("what training documents hold is known until the phrases are saved")
        columns: Small = self.labels.indices[self.labels.indptr[document] : self.labels.indptr[document + 1]]
        return columns

    def arrays(self, prefix: str = "") -> Arrays:
        """Return the arrays for :meth:`from_arrays`, under names with a prefix; none holds a training document."""
        hits = self.hits
        parts = {"seen": self.seen, "hits": hits.data, "labels": hits.indices, "offsets": hits.indptr}
        return {prefix + name: part for name, part in parts.items()}

    @classmethod
    def from_arrays(cls, arrays: ArrayFile, phrases: int, labels: int, prefix: str = "") -> Counts:
        """The counts that :meth:`arrays` described."""
        counts = arrays.under(prefix)
        seen = counts.array("seen", WHOLE, (phrases,), low=0)
        return cls(seen, counts.rows(("hits", "labels", "offsets"), (phrases, labels), kinds=NUMBERS))


class Phrases(ABC):
    """Phrases that speak for labels wherever they stand: those that coders marked, or mined ones."""

    kind: str  # what a model's folder calls them
    num_labels: int
    combine: np.ufunc  # of the shares of several matches

    @abstractmethod
    def __len__(self) -> int:
        """Count the phrases."""

    @abstractmethod
    def match(self, text: str, left_out: int | None) -> Iterator[Match]:
        """Do what :meth:`matches` does, anew."""

    def matches(self, text: str, left_out: int | None = None) -> list[Match]:
        """Return every phrase in a text; ``left_out``, its number among the training documents, is not counted."""
        return self._matches(text) if left_out is None else list(self.match(text, left_out))

    @of_last_texts
    def _matches(self, text: str) -> list[Match]:
        return list(self.match(text, None))

    @abstractmethod
    def content(self) -> tuple[object, Arrays]:
        """Return JSON and arrays for ``from_content``; nothing in them is of a single training document."""

    @abstractmethod
    def without_rare(self, least: int) -> Phrases:
        """The phrases without those that fewer training documents hold."""

    def scores(self, texts: Sequence[str], left_out: Sequence[int] | None = None) -> Floats:
        """Scores (B, L) of texts, 0 and more; ``left_out`` as in :meth:`matches`, for each text."""
        scores = np.zeros((len(texts), self.num_labels), dtype=np.float32)
        for row, text in enumerate(texts):
            for match in self.matches(text, None if left_out is None else left_out[row]):
                scores[row, match.labels] = self.combine(scores[row, match.labels], match.shares)
        return scores


class ReadingWords(TypedDict):
    """The part of a reading that JSON holds: its first three arguments."""

    letters: int | None
    frequent: list[str]
    phrases: Sequence[Annotated[Sequence[str], MinLen(1)]]


class PlantedPhrases(Phrases):
    """The phrases of the training documents, in two readings: by whole words, and by their first letters."""

    kind, combine = "phrases", np.add

    def __init__(self, readings: Sequence[Reading], num_labels: int) -> None:
        self.readings, self.num_labels = list(readings), num_labels

    @classmethod
    def fit(
        cls, texts: Sequence[str], labels: sp.csr_array, evidence: Sequence[DocumentEvidence], names: Sequence[str]
    ) -> PlantedPhrases:
        """Collect the phrases of training documents and count in how many documents they meet which label.

        ``texts`` and ``labels``, sparse (N, L) of ones, are those of the N training documents, and of no others;
        evidence for labels that are not in ``names``, the label set in column order, is passed over.
        """
        column_of = {name: column for column, name in enumerate(names)}
        marked = [
            {column_of[name]: spans for name, spans in of_document.items() if name in column_of}
            for of_document in evidence
        ]
        return cls([Reading.fit(texts, labels, marked, letters) for letters in READINGS], len(names))

    def __len__(self) -> int:
        return sum(len(reading.phrases) for reading in self.readings)

    def match(self, text: str, left_out: int | None) -> Iterator[Match]:
        """Every phrase in a text, of both readings; see :meth:`Phrases.matches`."""
        for reading in self.readings:
            yield from reading.matches(text, left_out)

    def without_rare(self, least: int) -> PlantedPhrases:
        """See :meth:`Phrases.without_rare`."""
        readings = []
        for reading in self.readings:
            often = np.flatnonzero(reading.counts.seen >= least)
            phrases = [reading.phrases[phrase] for phrase in often.tolist()]
            counts = Counts(reading.counts.seen[often], sp.csr_array(reading.counts.hits[often]))
            readings.append(Reading(reading.letters, reading.frequent, phrases, counts))
        return PlantedPhrases(readings, self.num_labels)

    def content(self) -> tuple[list[ReadingWords], Arrays]:
        """See :meth:`Phrases.content`."""
        words: list[ReadingWords] = []
        arrays: Arrays = {}
        for number, reading in enumerate(self.readings):
            words.append({"letters": reading.letters, "frequent": sorted(reading.frequent), "phrases": reading.phrases})
            arrays = {**arrays, **reading.counts.arrays(f"{number}_")}
        return words, arrays

    @classmethod
    def from_content(cls, words: Sequence[ReadingWords], arrays: ArrayFile, num_labels: int) -> PlantedPhrases:
        """The phrases that :meth:`content` described; errors as of :meth:`Counts.from_arrays`."""
        readings = []
        for number, content in enumerate(words):
            counts = Counts.from_arrays(arrays, len(content["phrases"]), num_labels, f"{number}_")
            readings.append(Reading(content["letters"], set(content["frequent"]), content["phrases"], counts))
        return cls(readings, num_labels)


@dataclass(eq=False, repr=False)
class Reading:
    """Phrases as sets of words that are cut to their first letters."""

    letters: int | None  # how many are kept; None: all
    frequent: set[str]  # words that are part of no phrase
    phrases: Sequence[Sequence[str]]  # each phrase's words, the rarest first
    counts: Counts  # of each with every label that it was marked for
    # For the same pairs the one document that the phrase was marked in for the label, or −1 where it was in several;
    # None: training documents are not asked for any more.
    sources: Small | None = None

    def __post_init__(self) -> None:
        self._sets = [frozenset(phrase) for phrase in self.phrases]
        self._by_rarest: dict[str, list[int]] = defaultdict(list)
        for number, phrase in enumerate(self.phrases):
            self._by_rarest[phrase[0]].append(number)

    @classmethod
    def fit(
        cls, texts: Sequence[str], labels: sp.csr_array, marked: Sequence[dict[int, Spans]], letters: int | None
    ) -> Reading:
        """Do what :meth:`PlantedPhrases.fit` does, with columns in the place of labels."""
        split = [words_of(text, letters) for text in texts]
        documents_with = Counter(word for words, _ in split for word in set(words))
        frequent = {word for word, count in documents_with.items() if count > FREQUENT * len(texts)}
        sources: dict[frozenset[str], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
        for document, ((words, places), spans_by_label) in enumerate(zip(split, marked, strict=True)):
            for label, spans in spans_by_label.items():
                for phrase in _phrases(words, places, spans, frequent):
                    sources[phrase][label].add(document)
        ordered = [sorted(phrase, key=lambda word: (documents_with[word], word)) for phrase in sources]
        pairs = [pair for of_label in sources.values() for pair in sorted(of_label.items())]
        only = [next(iter(documents)) if len(documents) == 1 else -1 for _, documents in pairs]
        offsets = np.cumsum([0, *(len(of_label) for of_label in sources.values())])
        columns = np.array([label for label, _ in pairs], dtype=np.int32)
        parts = (np.zeros(len(columns), dtype=np.float32), columns, offsets)
        hits = sp.csr_array(parts, shape=(len(ordered), labels.shape[1]))
        counts = Counts(np.zeros(len(ordered), dtype=np.int32), hits, labels)
        reading = cls(letters, frequent, ordered, counts, np.array(only, dtype=np.int32))
        for document, (words, _) in enumerate(split):
            labels_of = set(counts.labels_of(document).tolist())
            for number in reading._places(words):
                counts.seen[number] += 1
                entries = counts.entries(number)
                hits.data[entries] += [label in labels_of for label in hits.indices[entries].tolist()]
        return reading

    def matches(self, text: str, left_out: int | None = None) -> Iterator[Match]:
        """See :meth:`PlantedPhrases.matches`."""
        words, characters = words_of(text, self.letters)
        places_of = self._places(words)
        spoken = {phrase: (places, *self._probabilities(phrase, left_out)) for phrase, places in places_of.items()}
        # what only the document itself was marked with is not there, also not as a longer phrase around another
        known = {phrase: parts for phrase, parts in spoken.items() if len(parts[1])}
        longer = [self._sets[phrase] for phrase in known if len(self._sets[phrase]) > 1]
        for phrase, (places, labels, p) in known.items():
            if any(self._sets[phrase] < other for other in longer):
                p = p * INSIDE
            spans = [sorted(characters[place] for place in occurrence) for occurrence in places]
            yield Match.of(labels, p, spans)

    def _probabilities(self, phrase: int, left_out: int | None) -> tuple[Small, Probabilities]:
        """The labels of a phrase and p of each, without a training document."""
        counts, entries = self.counts, self.counts.entries(phrase)
        labels, hits, seen = counts.hits.indices[entries], counts.hits.data[entries], counts.seen[phrase]
        if left_out is not None:
            hits, seen = hits - np.isin(labels, counts.labels_of(left_out)), seen - 1
            if self.sources is not None:
                known = self.sources[entries] != left_out
                labels, hits = labels[known], hits[known]
        return labels, (hits.astype(np.float64) + HITS) / (seen + SEEN)

    def _places(self, words: Sequence[str]) -> dict[int, list[list[int]]]:
        """Phrase -> where its words stand, one list for each place of its rarest word that has the others near."""
        places: dict[str, list[int]] = defaultdict(list)
        read = [place for place, word in enumerate(words) if word not in self.frequent]
        for number, place in enumerate(read):
            places[words[place]].append(number)
        standing: dict[int, list[list[int]]] = {}
        for word in places:
            for phrase in self._by_rarest.get(word, ()):
                here = _together(self.phrases[phrase], places)
                if here:
                    standing[phrase] = [[read[place] for place in occurrence] for occurrence in here]
        return standing


def _together(phrase: Sequence[str], places: dict[str, list[int]]) -> list[list[int]]:
    """For each place of a phrase's first word the nearest places of the others, where all are near enough."""
    if any(word not in places for word in phrase):
        return []
    width = len(phrase) + SLACK
    occurrences = []
    for place in places[phrase[0]]:
        nearest = [place, *(_nearest(places[word], place) for word in phrase[1:])]
        if all(abs(other - place) < width for other in nearest):
            occurrences.append(nearest)
    return occurrences


def _nearest(places: list[int], place: int) -> int:
    after = bisect_left(places, place)
    return min(places[max(0, after - 1) : after + 1], key=lambda other: abs(other - place))


def touched(places: Spans, spans: Spans) -> set[int]:
    """Return the numbers of the places, in the order of the text, that a span touches."""
    starts, ends = [start for start, _ in places], [end for _, end in places]
    return {place for start, end in spans for place in range(bisect_right(ends, start), bisect_left(starts, end))}


def _phrases(words: Sequence[str], places: Spans, spans: Spans, frequent: set[str]) -> Iterator[frozenset[str]]:
    """The phrases that the spans of one label make of a text's words."""
    inside = np.array(sorted(touched(places, spans)), dtype=np.int64)
    for group in np.split(inside, np.flatnonzero(np.diff(inside) > GAP + 1) + 1):
        if phrase := {words[place] for place in group} - frequent:
            yield frozenset(phrase)
