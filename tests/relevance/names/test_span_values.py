from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.span_values import values_of_spans


def test_values_are_those_of_the_words_of_a_span() -> None:
    drawn = np.random.default_rng(0)
    spoken, marked = drawn.random((2, 9)).astype(np.float32)
    spans = np.array([[0, 9], [3, 4], [8, 9], [2, 5], [2, 5]])
    expected = [
        (spoken[a:b].max(), spoken[a:b].min(), marked[a:b].mean(), marked[a:b].min()) for a, b in spans.tolist()
    ]
    np.testing.assert_allclose(values_of_spans(spans, spoken, marked), expected, rtol=1e-6)
    assert values_of_spans(spans[:0], spoken, marked).shape == (0, 4)
