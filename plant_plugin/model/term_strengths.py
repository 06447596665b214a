"""What terms, phrases and letters of a text add at its words to the scores of labels.

Shapes: M labels, W words, V terms.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

import numpy as np
import scipy.sparse as sp

from plant_plugin.data.batches import Places
from plant_plugin.data.evidence import sentences
from plant_plugin.evaluation.plausibility import marked_words
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.phrases import Match


def linear_strengths(linear: LinearModel, text: str, words: Places, columns: Sequence[int]) -> Floats:
    """Return what the terms at each word (W, 2) of a text add to the linear scores of labels, (M, W).

    What a term adds is shared alike among its places in the text, and there among its words.
    """
    vocabulary, kind = linear.vectorizer.vocabulary, linear.vectorizer.kind
    shown = np.flatnonzero(words[:, 1] - words[:, 0] > (kind.splitter is None))  # else single characters are no terms
    written = [text[start:end].lower() for start, end in words[shown].tolist()]
    terms: list[int] = []
    places: list[int] = []
    for reading, length in itertools.product(kind.readings(written), range(kind.shortest, kind.longest + 1)):
        for first in range(len(reading) - length + 1):
            term = vocabulary.get(" ".join(reading[first : first + length]))
            if term is not None:
                terms += [term] * length
                places += shown[first : first + length].tolist()
    shares = 1 / np.bincount(terms, minlength=1)[terms] if terms else np.empty(0)
    at_word = sp.csr_array((shares, (terms, places)), shape=(len(vocabulary), len(words)))
    adds = sp.csr_array(linear.weights[list(columns)].multiply(linear.features([text])))  # (M, V)
    return (adds @ at_word).toarray().astype(np.float32)


def phrase_strengths(matches: Iterable[Match], words: Places, columns: Sequence[int]) -> Floats:
    """Return what the phrases of a text add at each of its words (W, 2) to the scores of labels, (M, W).

    Each of a phrase's words has all of it.
    """
    strengths = np.zeros((len(columns), len(words)), np.float32)
    row_of = {column: row for row, column in enumerate(columns)}
    for match in matches:
        shares = zip(match.labels.tolist(), match.shares.tolist(), strict=True)
        rows = [(row_of[label], share) for label, share in shares if label in row_of]
        if rows:
            there = marked_words(words, [span for spans in match.spans for span in spans])
            for row, share in rows:
                strengths[row, there] += share
    return strengths


def shared_alike(words: Places, spans: Sequence[tuple[int, int]]) -> Floats:
    """Return 1 shared alike among the words (W, 2) that a span touches, (W,); nothing where none is touched."""
    there = marked_words(words, spans)
    return there.astype(np.float32) / np.float32(max(1, there.sum()))


def letter_strengths(model: LinearModel, text: str, words: Places, columns: Sequence[int]) -> Floats:
    """Return what the letters of words (W, 2) add to the score of each label's best sentence, (M, W)."""
    strengths = np.zeros((len(columns), len(words)), np.float32)
    places = sentences(text)
    if not places:
        return strengths
    features, weights = model.features([text[start:end] for start, end in places]), model.weights[list(columns)]
    best = (features @ weights.T).toarray().argmax(axis=0)  # (M,)
    for row, (start, end) in enumerate(places[sentence] for sentence in best.tolist()):
        adds = (features[[best[row]]] * weights[[row]]).toarray()[0]  # (V,)
        runs = [(match.span(), _columns(model, match[0])) for match in re.finditer(r"\S+", text[start:end])]
        often = np.maximum(
            1, np.bincount(list(itertools.chain.from_iterable(terms for _, terms in runs)), minlength=len(adds))
        )
        for (first, last), terms in runs:
            strengths[row] += (adds / often)[terms].sum() * shared_alike(words, [(start + first, start + last)])
    return strengths


def _columns(model: LinearModel, run: str) -> list[int]:
    vocabulary = model.vectorizer.vocabulary
    return [vocabulary[term] for term in model.vectorizer.kind.of(run) if term in vocabulary]
