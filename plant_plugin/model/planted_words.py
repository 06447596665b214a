"""What each word adds to a label for which no network counts: by the planted scores, and as the label's name.

A model of planted scores alone has no network, and outside a shortlist the network's logit does not count. What a term
adds is shared alike among its places in the text, and there among its words; so is what a phrase, the letters of the
best sentence and a name add. What stands on no word is the label's own.

Shapes: M labels, W words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product

import numpy as np

from plant_plugin.model.named_evidence import Strengths, terms_of_names
from plant_plugin.model.term_strengths import letter_strengths, linear_strengths, shared_alike
from plant_plugin.model.trained import Floats, Places, ReadyModel
from plant_plugin.model.word_strength import ATTENTION, CONTRIBUTION, PARTS, EncodedDocument

TERMS = 10  # terms of the planted scores that are named


def without_network(predictor: ReadyModel, text: str, columns: Sequence[int]) -> list[int]:
    """Return those of the labels for which no network counts, without those that only a name makes known."""
    names, listed = predictor.names_in(text), predictor.shortlist([text])
    if listed is None and predictor.has_network:
        return []
    counts = set(listed[0].tolist() if listed is not None and predictor.has_network else ())
    return [column for column in columns if column not in counts and (names is None or not names.is_named(column))]


def with_planted_words(
    encoded: EncodedDocument, words: Places, columns: Sequence[int], strengths: Iterable[Strengths], silent: list[int]
) -> Iterator[Strengths]:
    """Yield the strengths of words (W, 2) for labels; of the ``silent`` ones what planted scores say of them."""
    added = dict(zip(silent, planted_words(encoded, words, silent), strict=True))
    for column, (measures, bias, elsewhere) in zip(columns, strengths, strict=True):
        if column in added:
            unread = {order: np.zeros_like(added[column]) for order in (ATTENTION, *PARTS) if order in measures}
            measures = {**measures, **unread, CONTRIBUTION: added[column]}
        yield measures, bias, elsewhere


def planted_words(encoded: EncodedDocument, words: Places, columns: Sequence[int]) -> Floats:
    """Return what each word (W, 2) adds to the sums of labels, (M, W), before these are log odds."""
    text, names, planted = encoded.text, encoded.predictor.names_in(encoded.text), encoded.predictor.planted_scores
    added = np.zeros((len(columns), len(words)), np.float32)
    if planted is not None and planted.weight:
        added += planted.linear_weight * linear_strengths(planted.linear, text, words, columns)
        if planted.sentences is not None and planted.sentence_weight:
            added += planted.sentence_weight * letter_strengths(planted.sentences.model, text, words, columns)
        for row, column in enumerate(columns):
            for occurrences, share in planted.marks(encoded.phrase_matches, column):
                added[row] += share * shared_alike(words, list(chain.from_iterable(occurrences)))
        added *= planted.weight
    if names is not None:
        said = names.proposed
        for place, row in product(range(len(said.columns)), range(len(columns))):
            if said.columns[place] == columns[row] and (term := names.term(columns[row])):
                spans = names.open_labels.answering(text, said.spans[place], said.names[place])
                added[row] += term[1] * shared_alike(words, spans)
    return added


@terms_of_names
def planted_terms(encoded: EncodedDocument, columns: Sequence[int]) -> Iterator[tuple[float, list[tuple[str, float]]]]:
    """Yield logits that the planted scores add to each label, and the terms that add most of them."""
    planted = encoded.predictor.planted_scores
    if planted is None or not planted.weight:
        yield from ((0.0, []) for _ in columns)
        return
    for terms, rest in planted.terms(encoded.text, columns, encoded.phrase_matches):
        total = planted.weight * (sum(value for _, value in terms) + rest)
        yield total, [(term, planted.weight * value) for term, value in terms[:TERMS]]
