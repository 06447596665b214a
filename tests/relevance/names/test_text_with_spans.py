from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.nearest import Block
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.names.text_with_spans import ReadText, values_of_spans


def test_values_are_those_of_the_words_of_a_span() -> None:
    drawn = np.random.default_rng(0)
    spoken, marked = drawn.random((2, 9)).astype(np.float32)
    spans = np.array([[0, 9], [3, 4], [8, 9], [2, 5], [2, 5]])
    expected = [
        (spoken[a:b].max(), spoken[a:b].min(), marked[a:b].mean(), marked[a:b].min()) for a, b in spans.tolist()
    ]
    np.testing.assert_allclose(values_of_spans(spans, spoken, marked), expected, rtol=1e-6)
    assert values_of_spans(spans[:0], spoken, marked).shape == (0, 4)


def test_spans_know_what_is_marked_and_spoken_in_them(fitted: OpenLabels) -> None:
    found = fitted.proposer.index.find([], fitted.proposer.translated)
    marked, spoken = np.array([0.1, 0.9, 0.5], np.float32), np.array([0, 0.2, 0.4], np.float32)
    spans, vectors = np.array([[0, 2], [1, 3]]), np.eye(2, 4, dtype=np.float32)
    text = ReadText([(0, 1), (2, 3), (4, 5)], found, marked, spoken, spans, np.zeros(2, np.float32), vectors)
    np.testing.assert_allclose(text.of_spans, [[0.2, 0, 0.5, 0.1], [0.4, 0.2, 0.7, 0.5]], rtol=1e-6)
    block = Block.of(np.ones(3, bool), np.arange(3, dtype=np.int32), np.eye(3, 4, dtype=np.float32))
    values, names = text.nearest(block)
    assert names[:, 0].tolist() == [0, 1]
    assert values[:, 0].tolist() == [1, 1]
    assert text.nearest(block) is text.nearest(block)
