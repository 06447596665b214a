"""Terms, which a linear model reads in the place of texts, and their tf-idf.

Shapes: B texts, V terms.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.words import words_by
from plant_plugin.relevance.mutual_information import narrow

MOST_WORDS = 50_000  # whose terms are kept in memory
CUT = "…"  # after a word that stands for all that begin so


class Terms(NamedTuple):
    """The kind of a term: runs of ``shortest`` to ``longest`` words, or of letters within a word.

    With ``word_letters`` a text is read twice, by its words and by the first so many letters of each, numbers whole: a
    word with another ending is then half the same. Terms of that reading end in `CUT`.
    """

    shortest: int
    longest: int
    letters: bool = False
    word_letters: int | None = None
    splitter: str | None = None  # what cuts texts into words, single characters too, see :mod:`plant_plugin.data.words`

    def of(self, text: str) -> Iterator[str]:
        """The terms of a text, one after the other, as often as they stand there; each as scikit-learn makes it."""
        if self.letters:
            return chain.from_iterable(map(self.of_word, _plain_words(text)))
        lengths = range(self.shortest, self.longest + 1)
        return chain.from_iterable(
            map(" ".join, zip(*(words[start:] for start in range(length)), strict=False))
            for words in self.readings(words_by(self.splitter).terms(text.lower()))
            for length in lengths
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
        characters = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in characters if not unicodedata.combining(character))
    return text.split()


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
        if len(self._of_words) > MOST_WORDS:
            self._of_words.clear()
        found = [np.fromiter(self._columns(text), np.int32) for text in texts]
        columns = np.concatenate([np.empty(0, np.int32), *found])
        parts = np.ones(len(columns), np.float32), columns, narrow(np.cumsum([0, *map(len, found)]))
        rows = sp.csr_array(parts, shape=(len(found), len(self.vocabulary)))
        rows.sum_duplicates()  # counts, in the order of columns
        np.log(rows.data, rows.data)
        rows.data += 1
        np.multiply(rows.data, self.frequency[rows.indices], out=rows.data, casting="same_kind")
        return of_norm_1(rows)

    def _columns(self, text: str) -> Iterable[int]:
        """Columns of the known terms of a text, as often as they stand there; those of letters are kept by word."""
        if not self.kind.letters:
            return self._known(self.kind.of(text))
        words, columns_of_word = _plain_words(text), self._of_words
        for word in words:
            if word not in columns_of_word:
                columns_of_word[word] = self._known(self.kind.of_word(word))
        return chain.from_iterable(map(columns_of_word.__getitem__, words))

    def _known(self, terms: Iterable[str]) -> list[int]:
        return [column for column in map(self.vocabulary.get, terms) if column is not None]


def of_norm_1(rows: sp.csr_array) -> sp.csr_array:
    """Rows (B, V) divided by their norm, which is summed in float64; in place."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    norms = np.sqrt(np.bincount(row, weights=rows.data * rows.data, minlength=rows.shape[0]))
    norms[norms == 0] = 1
    rows.data /= norms[row]
    return rows


def with_lead(whole: sp.csr_array, vectorizer: TermRows, texts: Iterable[str], lead: tuple[int, float]) -> sp.csr_array:
    """Tf-idf rows of whole texts plus ``lead``'s share of those of their beginnings, of norm 1 again."""
    words, share = lead
    if not words or not share:
        return whole
    cut = words_by(vectorizer.kind.splitter)
    beginnings = vectorizer.transform(cut.beginning(text, words) for text in texts)
    return of_norm_1(sp.csr_array(whole + np.float32(share) * beginnings))
