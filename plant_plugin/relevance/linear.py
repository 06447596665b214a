"""A linear model of the labels on tf-idf, in closed form: of whole documents on words, of sentences on letters.

Shapes: N training texts, B texts, L labels, V terms.
"""

from __future__ import annotations

import math
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import SHORTLIST_SIZES, PlantedScoresOptions
from plant_plugin.data.evidence import marked_sentences, sentences
from plant_plugin.data.text import DocumentEvidence
from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import TRUTHS, WHOLE, ArrayFile
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.pruned_index import PRUNED_ABOVE, PrunedIndex
from plant_plugin.relevance.ridge import prune, solve_ridge

WORD = re.compile(r"\b\w\w+\b")  # of a term: scikit-learn's, which leaves single characters out


class Terms(NamedTuple):
    """What a term is: runs of ``shortest`` to ``longest`` words, or of letters within a word.

    With ``word_letters`` a text is read twice, by its words and by the first so many letters of each, numbers whole: a
    word with another ending is then half the same. Terms of that reading end in `CUT`.
    """

    shortest: int
    longest: int
    letters: bool = False
    word_letters: int | None = None

    def of(self, text: str) -> Iterator[str]:
        """The terms of a text, one after the other, as often as they stand there; each as scikit-learn makes it."""
        if self.letters:
            return chain.from_iterable(map(self.of_word, _plain_words(text)))
        lengths = range(self.shortest, self.longest + 1)
        return (
            " ".join(words[start : start + length])
            for words in self.readings(WORD.findall(text.lower()))
            for length in lengths
            for start in range(len(words) - length + 1)
        )

    def readings(self, words: list[str]) -> list[list[str]]:
        """Words in lower case as they stand in terms: themselves, and where that is asked for their first letters."""
        if self.word_letters is None:
            return [words]
        return [words, [(word if word.isdigit() else word[: self.word_letters]) + CUT for word in words]]

    def of_word(self, word: str) -> Iterator[str]:
        """The runs of letters of a word; its ends count as letters."""
        word = f" {word} "
        for length in range(self.shortest, self.longest + 1):
            yield from (word[start : start + length] for start in range(max(1, len(word) - length + 1)))
            if length >= len(word):
                break  # a short word counts once


def _plain_words(text: str) -> list[str]:
    text = text.lower()
    if not text.isascii():
        text = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return text.split()


LISTED = max(SHORTLIST_SIZES)  # labels whose candidates are scored where a row of all is asked for, of very many
MOST_WORDS = 50_000  # whose terms are kept in memory
CUT = "…"  # behind a word that stands for all that begin so
LONGEST = 1000  # words or letters of a term that a model folder may ask for
# Letters, not words: chosen on CodiEsp's validation documents (benchmarks/TRIALS.md).
LETTERS, LETTERS_MIN, SENTENCE_PENALTY = Terms(3, 5, letters=True), 3, 0.5
REPLAYED = 1  # known sentences read again for each new one, chosen as above


@dataclass(eq=False, repr=False)
class TermRows:
    """Tf-idf rows of norm 1, equal to those of the ``TfidfVectorizer`` that the terms were counted with.

    That one takes a second and 200 MB to import, so that only training does.
    """

    kind: Terms
    vocabulary: Mapping[str, int]  # term -> column
    frequency: npt.NDArray[np.floating]  # (V,) inverse document frequency of the terms
    _of_words: dict[str, list[int]] = field(default_factory=dict, init=False)  # columns of the terms of single words

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Rows (B, V) of texts, CSR float32: (1 + log n) times inverse document frequency, divided by the norm."""
        columns: list[int] = []
        counts: list[int] = []
        offsets = [0]
        if len(self._of_words) > MOST_WORDS:
            self._of_words.clear()
        for text in texts:
            own = Counter(self._columns(text))
            columns += own
            counts += own.values()
            offsets.append(len(columns))
        parts = np.array(counts, np.float32), np.array(columns, np.int32), np.array(offsets, np.int32)
        rows = sp.csr_array(parts, shape=(len(offsets) - 1, len(self.vocabulary)))
        rows.sort_indices()
        np.log(rows.data, rows.data)
        rows.data += 1
        np.multiply(rows.data, self.frequency[rows.indices], out=rows.data, casting="same_kind")
        return _of_norm_1(rows)

    def _columns(self, text: str) -> Iterable[int]:
        """Columns of the known terms of a text, as often as they stand there; those of letters are kept by word."""
        if not self.kind.letters:
            return self._known(self.kind.of(text))
        words, kept = _plain_words(text), self._of_words
        for word in words:
            if word not in kept:
                kept[word] = self._known(self.kind.of_word(word))
        return chain.from_iterable(map(kept.__getitem__, words))

    def _known(self, terms: Iterable[str]) -> list[int]:
        return [column for term in terms if (column := self.vocabulary.get(term)) is not None]


def _of_norm_1(rows: sp.csr_array) -> sp.csr_array:
    """Rows (B, V) divided by their norm, which is summed in float64; in place."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(row, weights=rows.data * rows.data, minlength=rows.shape[0]))
    norms[norms == 0] = 1
    rows.data /= norms[row]
    return rows


@dataclass(eq=False, repr=False)
class LinearModel:
    """Kernel ridge regression on tf-idf rows of norm 1."""

    vectorizer: TermRows
    weights: sp.csr_array  # (L, V) float32
    lead: tuple[int, float]  # words that are the beginning of a text, and what their tf-idf counts beside the whole's
    half: bool = False  # weights are rounded to 16 bits, which the file takes; products want 32, and memory holds them

    def __post_init__(self) -> None:
        if self.half:
            self.weights.data = self.weights.data.astype(np.float16).astype(np.float32)

    @cached_property
    def _by_term(self) -> sp.csr_array:
        return sp.csr_array(self.weights.T)

    @property
    def pruned(self) -> bool:
        """Whether there are so many labels that those of a text are looked up in :attr:`index`."""
        return self.weights.shape[0] > PRUNED_ABOVE

    @cached_property
    def index(self) -> PrunedIndex:
        """What finds the labels that may score highest for a text."""
        return PrunedIndex.of(self.weights)

    @classmethod
    def fit(
        cls, texts: Sequence[str], labels: sp.csr_array, options: PlantedScoresOptions, terms: Terms | None = None
    ) -> LinearModel:
        """Solve for the weights, see :func:`.solve_ridge`, or :func:`.solve_by_label` by ``options.model``.

        ``texts`` are the N training texts, and no others; ``labels`` are theirs, sparse (N, L) of ones. What terms are
        the options say, unless it is given.

        Raises:
            ValueError: ``texts`` and ``labels`` differ in length.
            DataError: No term is in ``options.min_documents`` texts.
        """
        if len(texts) != labels.shape[0]:
            raise ValueError(f"{len(texts)} documents but {labels.shape[0]} rows of labels")
        from sklearn.feature_extraction.text import TfidfVectorizer

        kind = terms or Terms(1, options.ngrams, word_letters=options.word_letters)
        analyzer = "char_wb" if kind.letters else "word"
        counted = TfidfVectorizer(
            analyzer=kind.of if kind.word_letters else analyzer,  # scikit-learn reads a text once
            strip_accents="unicode" if kind.letters else None,
            ngram_range=(1, 1) if kind.word_letters else (kind.shortest, kind.longest),
            min_df=options.min_documents,
            max_features=options.terms,
            sublinear_tf=True,
            dtype=np.float32,
        )
        try:
            whole = sp.csr_array(counted.fit_transform(texts))
        except ValueError as error:
            what, fix = f"no word is in {options.min_documents} training documents", "choose a lower min_documents"
            raise DataError(what, where="planted_scores.min_documents", fix=f"{fix}, or `model: none`") from error
        vectorizer = TermRows(kind, counted.vocabulary_, counted.idf_)
        lead = (options.lead, options.lead_weight)
        rows = _with_lead(whole, vectorizer, texts, lead)
        targets = labels.astype(np.float32).tocsr()
        if options.model_for(*targets.shape) == "label_ridge":
            return cls(vectorizer, _by_label(rows, targets, options), lead, half=True)
        return cls(vectorizer, solve_ridge(rows, targets, options), lead)

    def taught(
        self,
        texts: Sequence[str],
        labels: sp.csr_array,
        again: Sequence[str],
        documents: int,
        options: PlantedScoresOptions,
    ) -> LinearModel:
        """The model with N more texts and their labels (N, L), by recursive least squares.

        The smallest Σ‖y − W·x‖² over the new texts + Σ‖(W − W₀)·x‖² over the ``again`` ones + λ‖W − W₀‖², where W₀ are
        the weights so far. Were ``again`` all texts that these were fitted to, and were terms and frequencies still
        theirs, W would be what :meth:`fit` finds for all texts together; that is not so, which costs little
        (benchmarks/TRIALS.md). Known terms keep their frequency, new ones have that of the N texts; ``documents`` are
        all texts, old and new.

        Source: Plackett 1950, "Some theorems in least squares", for the exact recursion.
        """
        kind, known = self.vectorizer.kind, self.vectorizer.vocabulary
        texts_with: Counter[str] = Counter()
        for text in texts:
            texts_with.update({term for term in kind.of(text) if term not in known})
        new = sorted(term for term, count in texts_with.items() if count >= options.min_documents)
        vocabulary = {**known, **{term: len(known) + place for place, term in enumerate(new)}}
        added = [math.log((1 + documents) / (1 + texts_with[term])) + 1 for term in new]  # scikit-learn's
        frequency = np.concatenate([self.vectorizer.frequency, np.array(added, np.float32)])
        rows = TermRows(kind, vocabulary, frequency)
        parts = self.weights.data, self.weights.indices, self.weights.indptr
        weights = sp.csr_array(parts, shape=(self.weights.shape[0], len(vocabulary)))
        features = _with_lead(rows.transform([*texts, *again]), rows, [*texts, *again], self.lead)
        missing = sp.csr_array(labels - features[: len(texts)] @ sp.csr_array(weights.T), dtype=np.float32)
        nothing = sp.csr_array((len(again), weights.shape[0]), dtype=np.float32)
        change = solve_ridge(features, sp.csr_array(sp.vstack([missing, nothing], format="csr")), options)
        return LinearModel(rows, prune(sp.csr_array(weights + change), options.top), self.lead, self.half)

    def features(self, texts: Sequence[str]) -> sp.csr_array:
        """What the weights are for: tf-idf rows (B, V) of norm 1, CSR; with ``lead`` their beginnings count more."""
        return _with_lead(self.vectorizer.transform(texts), self.vectorizer, texts, self.lead)

    def scores_of(self, features: sp.csr_array) -> Floats:
        """Scores (B, L) of what :meth:`features` made of texts; with a pruned index those of ``LISTED`` candidates.

        All other labels have then the lowest score of these.
        """
        if not self.pruned:
            scores: Floats = (features @ self._by_term).toarray()
            return scores
        labels, found = self.index.candidates(features, self.weights, LISTED)
        scores = found.min(axis=1, keepdims=True).repeat(self.weights.shape[0], axis=1)
        np.put_along_axis(scores, labels.astype(np.int64), found, axis=1)
        return scores

    def without_rare(self, texts: Iterable[str], least: int) -> LinearModel:
        """The model without the terms that fewer texts hold; the others' weights and frequencies stay."""
        kind, known = self.vectorizer.kind, self.vectorizer.vocabulary
        texts_with: Counter[str] = Counter()
        for text in texts:
            texts_with.update({term for term in kind.of(text) if term in known})
        kept = [column for column, term in enumerate(self.terms) if texts_with[term] >= least]
        vocabulary = {self.terms[column]: place for place, column in enumerate(kept)}
        rows = TermRows(kind, vocabulary, self.vectorizer.frequency[kept])
        return LinearModel(rows, sp.csr_array(self.weights[:, kept]), self.lead, self.half)

    @cached_property
    def terms(self) -> list[str]:
        """The V terms, in column order."""
        return sorted(self.vectorizer.vocabulary, key=self.vectorizer.vocabulary.__getitem__)

    def arrays(self) -> dict[str, npt.ArrayLike]:
        """What :meth:`from_arrays` makes the model of, beside the terms."""
        shortest, longest, letters, word_letters = self.vectorizer.kind
        return {
            **({"word_letters": np.int64(word_letters)} if word_letters else {}),
            "shortest": np.int64(shortest), "longest": np.int64(longest),
            "letters": np.bool_(letters),
            "lead": np.int64(self.lead[0]), "lead_weight": np.float64(self.lead[1]),
            "frequency": self.vectorizer.frequency.astype(np.float32), "shape": np.array(self.weights.shape),
            "data": self.weights.data.astype(np.float16 if self.half else np.float32),
            "indices": self.weights.indices, "offsets": self.weights.indptr,
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: ArrayFile, terms: Sequence[str], num_labels: int) -> LinearModel:
        """The model that :meth:`arrays` described, of these terms and so many labels; older ones lack some."""
        shape = num_labels, len(terms)
        if (found := tuple(arrays.array("shape", WHOLE, (2,)).tolist())) != shape:
            arrays.wrong("shape", f"is {found}, and there are {num_labels:,} labels and {len(terms):,} terms")
        weights = arrays.rows(("data", "indices", "offsets"), shape, kinds="f")
        half = arrays.array("data", "f", (None,)).dtype == np.float16
        letters = "letters" in arrays and bool(arrays.array("letters", TRUTHS))
        kind = Terms(
            arrays.whole("shortest", low=1, high=LONGEST, default=1),
            arrays.whole("longest", low=1, high=LONGEST),
            letters,
            arrays.whole("word_letters", low=1, high=LONGEST) if "word_letters" in arrays else None,
        )
        frequency = arrays.array("frequency", "f", (len(terms),))
        rows = TermRows(kind, {term: column for column, term in enumerate(terms)}, frequency)
        lead = arrays.whole("lead", default=0), arrays.number("lead_weight", default=0)
        return cls(rows, weights, lead, half)


@dataclass(eq=False, repr=False)
class SentenceScores:
    """What the sentences of a text tell, each by itself: of every label the score of the sentence that has most of it.

    A label and a word that meet in a sentence do belong together, which those of a document often do not.
    """

    model: LinearModel

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        evidence: Sequence[DocumentEvidence],
        names: Sequence[str],
        options: PlantedScoresOptions,
    ) -> SentenceScores:
        """A linear model of the sentences of training documents and of all that was marked in them, on runs of letters.

        A sentence has the labels that something in it was marked for; ``names`` is the label set, in column order.

        Raises:
            DataError: There are so few sentences that no run of letters is in ``LETTERS_MIN`` of them.
        """
        inside, marked = _marked_parts(texts, evidence, names)
        parts = inside + marked
        try:
            labels = _of_parts(parts, len(names))
            return cls(LinearModel.fit([text for text, _ in parts], labels, _sentence_options(options), LETTERS))
        except DataError as error:
            told = f"(sentences: {len(inside)}, marked stretches: {len(marked)})"
            what = f"too little to learn from {told}: no letters that {LETTERS_MIN} of them share"
            fix = "mark more training documents, or leave evidence out"
            raise DataError(what, where="evidence.training_file", fix=fix) from error

    def taught(
        self,
        texts: Sequence[str],
        evidence: Sequence[DocumentEvidence],
        names: Sequence[str],
        options: PlantedScoresOptions,
        new: int,
    ) -> SentenceScores:
        """The model with what the first ``new`` of the training documents tell, which it has not seen.

        As :meth:`fit` else; its rows are those of ``names`` already. See :meth:`LinearModel.taught`: of what it has
        seen it reads ``REPLAYED`` times as much again, drawn at random with the seed 0.
        """
        both = (_marked_parts(texts[rows], evidence[rows], names) for rows in (slice(new), slice(new, None)))
        fresh, known = (inside + marked for inside, marked in both)
        if not fresh:
            return self
        drawn = random.Random(0).sample(known, min(len(known), REPLAYED * len(fresh)))
        words, again = ([text for text, _ in parts] for parts in (fresh, drawn))
        labels = _of_parts(fresh, len(names))
        return SentenceScores(
            self.model.taught(words, labels, again, len(known) + len(fresh), _sentence_options(options))
        )

    def scores(self, texts: Sequence[str]) -> Floats:
        """Scores (B, L)."""
        found = np.zeros((len(texts), self.model.weights.shape[0]), dtype=np.float32)
        parts = [[text[start:end] for start, end in sentences(text)] for text in texts]
        features = self.model.features(list(chain.from_iterable(parts)))  # of all at once: words stand there again
        ends = np.cumsum([len(own) for own in parts])
        for row, (own, end) in enumerate(zip(parts, ends.tolist(), strict=True)):
            if own:
                found[row] = self.model.scores_of(features[end - len(own) : end]).max(axis=0)
        return found


def _by_label(rows: sp.csr_array, targets: sp.csr_array, options: PlantedScoresOptions) -> sp.csr_array:
    """Weights label by label, here or on Dask's workers."""
    if options.dask is not None:
        from plant_plugin.relevance.distributed import solve_on_workers

        return solve_on_workers(options.dask, rows, targets, options)
    from plant_plugin.relevance.label_ridge import solve_by_label  # compiled: a prediction need not wait

    return solve_by_label(rows, targets, options)


Part = tuple[str, list[int]]  # a stretch of text, and the columns of what is marked in it


def _marked_parts(
    texts: Sequence[str], evidence: Sequence[DocumentEvidence], names: Sequence[str]
) -> tuple[list[Part], list[Part]]:
    """The sentences of documents in which something is marked; and all stretches that are marked, each once."""
    column_of = {name: column for column, name in enumerate(names)}
    marked: dict[str, set[int]] = {}  # the same words as one text, with all that they were marked for
    parts: list[Part] = []
    for text, own in zip(texts, evidence, strict=True):
        known = {name: spans for name, spans in own.items() if name in column_of}
        for name, spans in known.items():
            for start, end in spans:
                marked.setdefault(text[start:end].lower(), set()).add(column_of[name])
        for start, end, inside in marked_sentences(text, known):
            parts.append((text[start:end], [column_of[name] for name in inside]))
    return parts, [(words, sorted(found)) for words, found in marked.items()]


def _of_parts(parts: Sequence[Part], labels: int) -> sp.csr_array:
    rows = np.repeat(np.arange(len(parts)), np.array([len(columns) for _, columns in parts], dtype=np.int64))
    places = rows, [column for _, columns in parts for column in columns]
    return sp.csr_array((np.ones(len(rows), dtype=np.float32), places), shape=(len(parts), labels))


def _sentence_options(options: PlantedScoresOptions) -> PlantedScoresOptions:
    return replace(options, penalty=SENTENCE_PENALTY, min_documents=LETTERS_MIN, lead=0)


def _with_lead(
    whole: sp.csr_array, vectorizer: TermRows, texts: Sequence[str], lead: tuple[int, float]
) -> sp.csr_array:
    """Tf-idf rows of whole texts plus ``lead``'s share of those of their beginnings, of norm 1 again."""
    words, share = lead
    if not words or not share:
        return whole
    beginnings = vectorizer.transform(" ".join(text.split(None, words)[:words]) for text in texts)
    return _of_norm_1(sp.csr_array(whole + np.float32(share) * beginnings))
