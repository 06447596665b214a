"""How strongly each word of a document speaks for its labels, by every measure that a model offers.

Words are the runs of letters and digits of the text, read by the model or not, so that models can be compared: a word
that was not read has strength 0.

Shapes: M labels that are asked for, W words, T tokens, V terms of the planted scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.plausibility import marked_words
from plant_plugin.model.encoded_document import EncodedDocument
from plant_plugin.model.ready import ReadyModel
from plant_plugin.model.words import Words, all_words

if TYPE_CHECKING:
    from plant_plugin.relevance.linear import LinearModel
    from plant_plugin.relevance.phrases import Phrases

Floats = npt.NDArray[np.float32]

BLOCK = 32  # labels at once: bounds the memory of attention and of the copies that gradients need
CONTRIBUTION, ATTENTION, WITHOUT_PRIOR, MIG, LINEAR, GRADIENT, PHRASES, RANDOM = (
    "contribution", "attention", "attention without prior", "MIG", "linear", "gradient × input", "phrases",
    "random",
)  # fmt: skip


def word_strengths(
    predictor: ReadyModel, text: str, columns: Sequence[int], random: np.random.Generator
) -> tuple[Words, dict[str, Floats]]:
    """The words of a document, and order -> strengths (M, W).

    Args:
        predictor: The model.
        text: The document.
        columns: The M labels.
        random: For the order that any other has to beat.

    Raises:
        ConfigError: The network does not show its attention.
    """
    encoded = EncodedDocument(predictor, text)
    words = all_words(text, encoded.spans)
    blocks = [_block(encoded, text, words, columns[start : start + BLOCK]) for start in range(0, len(columns), BLOCK)]
    found = {order: np.concatenate([block[order] for block in blocks]) for order in blocks[0]} if blocks else {}
    found[RANDOM] = random.random((len(columns), len(words)), dtype=np.float32)
    return words, found


def _block(encoded: EncodedDocument, text: str, words: Words, columns: Sequence[int]) -> dict[str, Floats]:
    """All measures of some labels; one more measure of words is one more entry here."""
    predictor = encoded.predictor
    found: dict[str, Floats] = {}
    if any(True for _ in predictor.network.parameters()):  # planted scores alone stand on a network of nothing
        if (parts := encoded.contributions(columns)) is not None:
            found[CONTRIBUTION] = _summed(words, parts[0])
        found[ATTENTION] = _summed(words, encoded.attention(columns))
        if predictor.network.has_prior:
            found[WITHOUT_PRIOR] = _summed(words, encoded.attention(columns, with_prior=False))
        if (gradient := encoded.gradient_times_input(columns)) is not None:
            found[GRADIENT] = _summed(words, gradient)
    if (relevance := encoded.relevance(columns)) is not None:
        found[MIG] = np.stack([words.highest(row) for row in relevance])
    if (planted := predictor.model.planted_scores) is not None:
        found[LINEAR] = linear_strengths(planted.linear, text, words.spans, columns)
        if planted.phrases is not None:
            found[PHRASES] = phrase_strengths(planted.phrases, text, words.spans, columns)
    return found


def _summed(words: Words, values: Floats) -> Floats:
    return np.stack([words.summed(row)[0] for row in values])


def linear_strengths(linear: LinearModel, text: str, words: npt.NDArray[np.int64], columns: Sequence[int]) -> Floats:
    """What the terms at each word add to the linear scores of labels, (M, W).

    What a term adds is shared alike among its places in the text, and there among its words.

    Args:
        linear: The model of whole documents.
        text: The document.
        words: (W, 2) its runs of letters and digits.
        columns: The M labels.
    """
    shown = np.flatnonzero(words[:, 1] - words[:, 0] > 1)  # the vectorizer leaves single characters out
    written = [text[start:end].lower() for start, end in words[shown].tolist()]
    vocabulary, (least, most, _) = linear.vectorizer.vocabulary, linear.vectorizer.kind
    terms: list[int] = []
    places: list[int] = []
    for length in range(least, most + 1):
        for first in range(len(written) - length + 1):
            term = vocabulary.get(" ".join(written[first : first + length]))
            if term is not None:
                terms += [term] * length
                places += shown[first : first + length].tolist()
    shares = 1 / np.bincount(terms, minlength=1)[terms] if terms else np.empty(0)
    at_word = sp.csr_array((shares, (terms, places)), shape=(len(vocabulary), len(words)))
    adds = sp.csr_array(linear.weights[list(columns)].multiply(linear.features([text])))  # (M, V)
    found: Floats = (adds @ at_word).toarray().astype(np.float32)
    return found


def phrase_strengths(phrases: Phrases, text: str, words: npt.NDArray[np.int64], columns: Sequence[int]) -> Floats:
    """What the phrases at each word add to the scores of labels, (M, W): each of a phrase's words has all of it.

    Args:
        phrases: Of the training documents.
        text: The document.
        words: (W, 2) where its words stand.
        columns: The M labels.
    """
    found = np.zeros((len(columns), len(words)), dtype=np.float32)
    row_of = {column: row for row, column in enumerate(columns)}
    for match in phrases.matches(text):
        shares = zip(match.labels.tolist(), match.shares.tolist(), strict=True)
        rows = [(row_of[label], share) for label, share in shares if label in row_of]
        if rows:
            there = marked_words(words, [span for spans in match.spans for span in spans])
            for row, share in rows:
                found[row, there] += share
    return found
