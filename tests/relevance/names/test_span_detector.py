from __future__ import annotations

import random

import numpy as np

from plant_plugin.relevance.names.span_detector import FEATURES, SpanDetector, WordWeights, features_of, spans_of

WORDS = ["fractura", "de", "la", "muñeca", "derecha", "de", "x"]


def test_summed_weights_are_the_product_with_the_features() -> None:
    weights = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32)
    sums = WordWeights(weights).sums(WORDS)
    np.testing.assert_allclose(sums, features_of(WORDS) @ weights, rtol=1e-4, atol=1e-4)


def test_a_word_alone_has_features_of_its_neighbourhood() -> None:
    alone, beside = features_of(["muñeca"]), features_of(WORDS)[[3]]
    assert alone.shape == (1, FEATURES)
    assert 0 < np.isin(alone.indices, beside.indices).mean() < 1


def test_words_that_were_marked_in_their_place_are_likely_again() -> None:
    drawn = random.Random(0)
    others = [(drawn.choices("xyz", k=10), drawn.choices("xy", k=5)) for _ in range(60)]
    texts = [[*before, "acute", "fever", *after] for before, after in others]
    marked = [np.array([word in ("acute", "fever") for word in text]) for text in texts]
    detector = SpanDetector.fit(texts, marked)
    probabilities = detector.probabilities(["x", "acute", "fever", "y"])
    assert probabilities[1:3].min() > 0.5 > max(probabilities[0], probabilities[3])
    spans, scores = spans_of(probabilities)
    assert spans[0].tolist() == [1, 3]
    assert (np.diff(scores) <= 0).all()


def test_where_nothing_or_everything_was_marked_nothing_is_said() -> None:
    for mark in (False, True):
        detector = SpanDetector.fit([["a", "b"]], [np.array([mark, mark])])
        np.testing.assert_allclose(detector.probabilities(["a", "c"]), 0.5)


def test_a_text_without_words_has_no_spans() -> None:
    detector = SpanDetector.fit([["a", "b"]], [np.array([True, False])])
    spans, scores = spans_of(detector.probabilities([]))
    assert (spans.shape, scores.shape) == ((0, 2), (0,))
