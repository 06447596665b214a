"""Marks of tokens: what phrases and a document's own evidence tell of labels at the places where they stand.

Shapes: L labels; positions are those of the tokens of all documents, one document after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from plant_plugin.data.batches import TokenMarks
from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.phrases import Phrases, touched

Places = Callable[[str], Spans]
Marks = Callable[[int, str], Iterator[tuple[Spans, Small, Floats]]]  # of a document: spans, labels, value of each

LEAST = 0.15  # a phrase of lower p marks no token: most words are part of some phrase


def phrase_marks(
    phrases: Phrases,
    texts: Sequence[str],
    arrays: TokenArrays,
    places: Places,
    strength: float = 1.0,
    own: Sequence[int] | None = None,
) -> TokenMarks:
    """What phrases tell at the tokens that they stand on: the highest p of each label, where it is above ``LEAST``.

    ``arrays`` are the tokens of the texts, ``places`` says where those of a text begin and end; p is multiplied with
    ``strength``; ``own`` is as in :meth:`.Phrases.matches`, for each text.
    """

    def marks(document: int, text: str) -> Iterator[tuple[Spans, Small, Floats]]:
        for match in phrases.matches(text, None if own is None else own[document]):
            p = -np.expm1(-match.shares)
            spans = [span for several in match.spans for span in several]
            yield spans, match.labels[p > LEAST], np.float32(strength) * p[p > LEAST]

    return _token_marks(texts, arrays, places, phrases.num_labels, marks)


def evidence_marks(
    evidence: Sequence[DocumentEvidence],
    names: Sequence[str],
    texts: Sequence[str],
    arrays: TokenArrays,
    places: Places,
) -> TokenMarks:
    """1 at the tokens of each document's own evidence; arguments as in :func:`phrase_marks`."""
    column_of = {name: column for column, name in enumerate(names)}
    one = np.ones(1, dtype=np.float32)

    def marks(document: int, text: str) -> Iterator[tuple[Spans, Small, Floats]]:
        for name, spans in evidence[document].items():
            if name in column_of:
                yield spans, np.array([column_of[name]], dtype=np.int32), one

    return _token_marks(texts, arrays, places, len(names), marks)


def _token_marks(
    texts: Sequence[str], arrays: TokenArrays, places: Places, num_labels: int, marks: Marks
) -> TokenMarks:
    """Spans, labels and values of each document as a matrix (positions, L); of values at one place the highest."""
    rows, columns, values = [], [], []
    for document, text in enumerate(texts):
        # special tokens stand nowhere, and what is searched has to be in order
        tokens = [(token, place) for token, place in enumerate(places(text)) if place[0] < place[1]]
        standing = [place for _, place in tokens]
        highest: dict[tuple[int, int], float] = {}
        for spans, labels, strengths in marks(document, text):
            on = {tokens[place][0] for place in touched(standing, spans)}
            for label, strength in zip(labels.tolist(), strengths.tolist(), strict=True):
                for token in on:
                    highest[token, label] = max(strength, highest.get((token, label), 0.0))
        rows += [int(arrays.offsets[document]) + token for token, _ in highest]
        columns += [label for _, label in highest]
        values += list(highest.values())
    parts = np.array(values, dtype=np.float32), (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))
    matrix = sp.csr_array(parts, shape=(int(arrays.offsets[-1]), num_labels))
    matrix.sort_indices()
    return TokenMarks(matrix, arrays.offsets)
