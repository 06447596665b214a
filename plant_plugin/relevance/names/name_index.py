"""Names of labels found in texts: how much of a name stands near one place.

Words are cut to their first letters. A word of a text may also be one that a lexicon translates, with the probability
that the lexicon gives it. The *cover* of a name is the share of its idf that the words of a window hold.

Shapes: M names, V stems, W words of a text, F names found.

Source: ours; idf: Robertson & Spärck Jones 1976; :func:`telling`: Chaudhuri, Ganti & Kaushik 2006, "A Primitive
Operator for Similarity Joins in Data Cleaning" (prefix filter).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.text import Spans
from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.translation import Translated
from plant_plugin.relevance.phrases import words_of

LETTERS = 6  # of a word that are read
WINDOW = 9  # words of a text that hold a name
LEAST = 0.3  # of a name's idf that the whole text holds, so that its windows are looked at
MOST_NAMES = 1500  # whose windows are looked at, those that the text holds most of
ALMOST = 0.999  # of a share: sums are rounded


class Found(NamedTuple):
    """Names that stand in a text, and where: each array is (F,)."""

    names: Small
    cover: Floats  # share of the name's idf in its best window
    of_text: Floats  # and in the whole text
    places: Small  # the window's first word
    matched: Small  # words of the name that it holds


@dataclass(eq=False, repr=False)
class NameIndex:
    """All names of all labels.

    Attributes:
        labels: The labels that have a name, in the order of their columns.
        names: The M names.
        words: The words of each.
        of_label: (M,) place of each name's label in ``labels``, ascending.
        said: Stem -> how often texts say it where a name of theirs has it, in (0, 1], beside other stems; missing: 1.
    """

    labels: list[str]
    names: list[str]
    words: list[list[str]]
    of_label: Small
    said: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str]], said: Mapping[str, float] | None = None) -> NameIndex:
        """Index pairs of label and name; of names with the same words, one label has one."""
        place_of = {label: place for place, label in enumerate(sorted({label for label, _ in rows}))}
        known: dict[tuple[int, frozenset[str]], tuple[str, list[str]]] = {}
        for label, name in rows:
            if words := words_of(name)[0]:
                known.setdefault((place_of[label], frozenset(map(stem_of, words))), (name, words))
        ordered = sorted(known.items(), key=lambda entry: entry[0][0])
        of_label = np.array([place for (place, _), _ in ordered], dtype=np.int32)
        return cls(
            list(place_of),
            [name for _, (name, _) in ordered],
            [words for _, (_, words) in ordered],
            of_label,
            said or {},
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def stems(self) -> dict[str, int]:
        """Return stem -> column."""
        return self._rows[1]

    @property
    def matrix(self) -> sp.csr_array:
        """Return the names' stems, (M, V) of ones."""
        return self._rows[0]

    @cached_property
    def _rows(self) -> tuple[sp.csr_array, dict[str, int]]:
        stems: dict[str, int] = {}
        rows = [sorted({stems.setdefault(stem_of(word), len(stems)) for word in words}) for words in self.words]
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        columns = np.array([stem for row in rows for stem in row], dtype=np.int32)
        return sp.csr_array((np.ones(len(columns), np.float32), columns, offsets), (len(rows), len(stems))), stems

    @cached_property
    def idf(self) -> Floats:
        """Return how much each stem tells, (V,)."""
        holding = np.bincount(self.matrix.indices, minlength=len(self.stems))
        idf = np.log((1 + len(self)) / (1 + holding)) + 1e-3
        said: Floats = (idf * [self.said.get(stem, 1.0) for stem in self.stems]).astype(np.float32)
        return said

    @cached_property
    def total(self) -> Floats:
        """Return the sum of each name's idf, (M,)."""
        total: Floats = self.matrix @ self.idf
        return total

    @cached_property
    def _telling(self) -> tuple[sp.csr_array, sp.csr_array, Floats]:
        return telling(self.matrix, self.idf, self.total, LEAST)

    def find(self, words: Sequence[str], translated: Translated) -> Found:
        """Find the names whose words stand near each other among the words of a text."""
        from plant_plugin.relevance.names.compiled import cover_of_text, cover_of_windows

        entries = [translated[word] for word in words]
        places = np.repeat(np.arange(len(words), dtype=np.int32), [len(stems) for stems, _ in entries])
        if not len(places):
            nothing = np.empty(0, np.int32)
            return Found(nothing, nothing.astype(np.float32), nothing.astype(np.float32), nothing, nothing)
        stems = np.concatenate([stems for stems, _ in entries])
        weights = np.concatenate([weights for _, weights in entries])
        order = np.argsort(stems, kind="stable")
        stems, weights, places = stems[order], weights[order], places[order]
        offsets = np.searchsorted(stems, np.arange(len(self.stems) + 1)).astype(np.int32)
        present = np.unique(stems)
        highest = np.maximum.reduceat(weights, offsets[present])
        first, others, rest = self._telling
        looked_for = (present, highest, first.indptr, first.indices, others.indptr, others.indices, rest)
        touched, held = cover_of_text(*looked_for, self.idf, self.total, np.float32(LEAST))
        if len(held) > MOST_NAMES:
            most = np.argpartition(-held, MOST_NAMES)[:MOST_NAMES]
            touched, held = touched[most], held[most]
        parts = (touched, self.matrix.indptr, self.matrix.indices, self.idf, offsets, places, weights)
        cover, at, matched = cover_of_windows(*parts, len(words), WINDOW)
        return Found(touched, cover / self.total[touched], held, at, matched)


def telling(
    matrix: sp.csr_array, idf: Floats, total: Floats, least: float
) -> tuple[sp.csr_array, sp.csr_array, Floats]:
    """Return the names (V, M) that are looked for by each stem, each name's others, (M, V), and what those tell, (M,).

    The others are those stems of ``matrix`` (M, V) that tell least of a name, as many as hold less than the share
    ``least`` of its ``total`` (M,) together. What holds only such ones holds less than that.
    """
    names = np.repeat(np.arange(len(total)), np.diff(matrix.indptr))
    order = np.lexsort((idf[matrix.indices], names))
    sums = np.cumsum(idf[matrix.indices[order]], dtype=np.float64)
    before = np.concatenate([[0], sums])[matrix.indptr[:-1]]
    others = matrix.copy()
    others.data[order] = sums - before[names] < ALMOST * least * total[names]
    first = sp.csr_array((matrix - others).T)
    for part in (first, others):
        part.eliminate_zeros()
    return first, others, others @ idf


def stem_of(word: str) -> str:
    """Return the first letters of a word of :func:`words_of`, of a number all."""
    return word if word.isdigit() else word[:LETTERS]


def stems_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without accents, cut to their first letters."""
    return words_of(text, LETTERS)[0]


def stems_with_places(text: str) -> tuple[list[str], Spans]:
    """Return the same, and where each stands."""
    return words_of(text, LETTERS)


def first_of_each(of_label: npt.NDArray[np.integer], best: Floats) -> npt.NDArray[np.int64]:
    """Return the place of the highest value of each label, labels ascending."""
    order = np.lexsort((-best, of_label))
    _, first = np.unique(of_label[order], return_index=True)
    return order[first]
