"""Planted scores of new documents: tf-idf's terms, and the product of few sparse rows with the weights of labels.

Made-up documents with Zipf's law. The ways that plant_plugin had before are beside its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from test_relevance import corpus

from plant_plugin.relevance.term_table import TermTable
from plant_plugin.relevance.terms import TermRows, Terms

TEXTS = 256
DOCUMENTS = 32, 150, 20_000, 2_000, 2_000  # at once, terms of each, terms and labels in all, weights of a label
SENTENCES = 12, 250, 50_000, 2_000, 300
MANY_LABELS = 32, 270, 200_000, 15_000, 500


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Documents of 200 words."""
    ids = corpus(TEXTS, 200, 30_000, 8, 2)[0].ids
    return [" ".join(f"word{number}" for number in part) for part in np.split(ids, TEXTS)]


@pytest.mark.parametrize("way", ["a Counter for each text", "plant_plugin"])
@pytest.mark.parametrize("kind", [Terms(1, 2), Terms(3, 5, letters=True)], ids=["words", "letters"])
def test_terms(measure: Callable[..., Any], texts: list[str], kind: Terms, way: str) -> None:
    names = sorted({term for text in texts[: TEXTS // 2] for term in kind.of(text)})
    rows = TermRows(kind, {name: place for place, name in enumerate(names)}, np.ones(len(names), np.float32))

    def by_counters() -> sp.csr_array:
        counted = [Counter(rows._columns(text)) for text in texts]
        columns, counts = ([each for of_text in counted for each in part(of_text)] for part in (list, Counter.values))
        parts = np.array(counts, np.float32), np.array(columns, np.int32), np.cumsum([0, *map(len, counted)])
        found = sp.csr_array(parts, shape=(len(texts), len(names)))
        found.sort_indices()
        return found

    read = "letters of words" if kind.letters else "words and pairs"
    measure(
        f"tf-idf of {TEXTS} texts of 200 words: {read}",
        way,
        by_counters if way[0] == "a" else lambda: rows.transform(texts),
    )


@pytest.mark.parametrize("way", ["scipy's product", "plant_plugin"])
@pytest.mark.parametrize("shape", [DOCUMENTS, SENTENCES, MANY_LABELS], ids=["documents", "sentences", "many_labels"])
def test_product(measure: Callable[..., Any], shape: tuple[int, ...], way: str) -> None:
    texts, length, terms, labels, weights = shape
    arrays, _ = corpus(texts, length, terms, 8, 2)
    rows = sp.csr_array((np.ones(len(arrays.ids), np.float32), arrays.ids, arrays.offsets), shape=(texts, terms))
    rows.sum_duplicates()
    of_labels, _ = corpus(labels, weights, terms, 8, 2)
    ones = np.ones(len(of_labels.ids), np.float32)
    table = sp.csr_array(sp.csr_array((ones, of_labels.ids, of_labels.offsets), shape=(labels, terms)).T)
    table.sum_duplicates()
    ours = TermTable.of(sp.csr_array(table.T))
    step = {"plant_plugin": lambda: ours.scores(rows)}.get(way, lambda: (rows @ table).toarray())
    measure(
        f"scores of {texts} texts: {length} terms, V={terms:,}, L={labels:,}, {weights} weights of a label", way, step
    )
