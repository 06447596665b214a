"""A linear model of the labels on tf-idf, in closed form: of whole documents on words, of sentences on letters.

Shapes: N training texts, B texts, L labels, V terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.data.evidence import marked_sentences, sentences
from plant_plugin.data.text import DocumentEvidence
from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import TRUTHS, WHOLE, ArrayFile
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.ridge import solve_ridge

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
        text = text.lower()
        if self.letters:
            if not text.isascii():
                text = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
            for word in (f" {part} " for part in text.split()):
                for length in range(self.shortest, self.longest + 1):
                    yield from (word[start : start + length] for start in range(max(1, len(word) - length + 1)))
                    if length >= len(word):
                        break  # a short word counts once
            return
        for words in self.readings(WORD.findall(text)):
            for length in range(self.shortest, self.longest + 1):
                yield from (" ".join(words[start : start + length]) for start in range(len(words) - length + 1))

    def readings(self, words: list[str]) -> list[list[str]]:
        """Words in lower case as they stand in terms: themselves, and where that is asked for their first letters."""
        if self.word_letters is None:
            return [words]
        return [words, [(word if word.isdigit() else word[: self.word_letters]) + CUT for word in words]]


CUT = "…"  # behind a word that stands for all that begin so
LONGEST = 1000  # words or letters of a term that a model folder may ask for
# Letters, not words: chosen on CodiEsp's validation documents (benchmarks/TRIALS.md).
LETTERS, LETTERS_MIN, SENTENCE_PENALTY = Terms(3, 5, letters=True), 3, 0.5


@dataclass(eq=False, repr=False)
class TermRows:
    """Tf-idf rows of norm 1, equal to those of the ``TfidfVectorizer`` that the terms were counted with.

    That one takes a second and 200 MB to import, so that only training does.
    """

    kind: Terms
    vocabulary: Mapping[str, int]  # term -> column
    frequency: npt.NDArray[np.floating]  # (V,) inverse document frequency of the terms

    def transform(self, texts: Iterable[str]) -> sp.csr_array:
        """Rows (B, V) of texts, CSR float32: (1 + log n) times inverse document frequency, divided by the norm."""
        columns: list[int] = []
        counts: list[int] = []
        offsets = [0]
        for text in texts:
            known = (self.vocabulary.get(term) for term in self.kind.of(text))
            own = Counter(column for column in known if column is not None)
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
        self._by_term = sp.csr_array(self.weights.T)

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
            from plant_plugin.relevance.label_ridge import solve_by_label  # compiled: a prediction need not wait

            return cls(vectorizer, solve_by_label(rows, targets, options), lead, half=True)
        return cls(vectorizer, solve_ridge(rows, targets, options), lead)

    def features(self, texts: Sequence[str]) -> sp.csr_array:
        """What the weights are for: tf-idf rows (B, V) of norm 1, CSR; with ``lead`` their beginnings count more."""
        return _with_lead(self.vectorizer.transform(texts), self.vectorizer, texts, self.lead)

    def scores_of(self, features: sp.csr_array) -> Floats:
        """Scores (B, L) of what :meth:`features` made of texts."""
        scores: Floats = (features @ self._by_term).toarray()
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
        column_of = {name: column for column, name in enumerate(names)}
        marked: dict[str, set[int]] = {}  # the same words as one text, with all that they were marked for
        parts: list[tuple[str, list[int]]] = []
        for text, own in zip(texts, evidence, strict=True):
            known = {name: spans for name, spans in own.items() if name in column_of}
            for name, spans in known.items():
                for start, end in spans:
                    marked.setdefault(text[start:end].lower(), set()).add(column_of[name])
            for start, end, inside in marked_sentences(text, known):
                parts.append((text[start:end], [column_of[name] for name in inside]))
        told = f"(sentences: {len(parts)}, marked stretches: {len(marked)})"
        parts += [(words, sorted(found)) for words, found in marked.items()]
        rows = np.repeat(np.arange(len(parts)), np.array([len(columns) for _, columns in parts], dtype=np.int64))
        places = rows, [column for _, columns in parts for column in columns]
        labels = sp.csr_array((np.ones(len(rows), dtype=np.float32), places), shape=(len(parts), len(names)))
        chosen = replace(options, penalty=SENTENCE_PENALTY, min_documents=LETTERS_MIN, lead=0)
        try:
            return cls(LinearModel.fit([text for text, _ in parts], labels, chosen, LETTERS))
        except DataError as error:
            what = f"too little to learn from {told}: no letters that {LETTERS_MIN} of them share"
            fix = "mark more training documents, or leave evidence out"
            raise DataError(what, where="evidence.training_file", fix=fix) from error

    def scores(self, texts: Sequence[str]) -> Floats:
        """Scores (B, L)."""
        found = np.zeros((len(texts), self.model.weights.shape[0]), dtype=np.float32)
        for row, text in enumerate(texts):
            parts = [text[start:end] for start, end in sentences(text)]
            if parts:
                found[row] = self.model.scores_of(self.model.features(parts)).max(axis=0)
        return found


def _with_lead(
    whole: sp.csr_array, vectorizer: TermRows, texts: Sequence[str], lead: tuple[int, float]
) -> sp.csr_array:
    """Tf-idf rows of whole texts plus ``lead``'s share of those of their beginnings, of norm 1 again."""
    words, share = lead
    if not words or not share:
        return whole
    beginnings = vectorizer.transform(" ".join(text.split(None, words)[:words]) for text in texts)
    return _of_norm_1(sp.csr_array(whole + np.float32(share) * beginnings))
