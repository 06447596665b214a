from __future__ import annotations

import numpy as np

from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.word_vectors import vectors_of


def test_a_text_is_the_sum_of_its_words_and_each_word_is_looked_up_once() -> None:
    asked: list[str] = []

    def of_word(word: str) -> Floats:
        asked.append(word)
        return {"a": np.array([3, 0], np.float32), "b": np.array([0, 4], np.float32)}[word]

    vectors = vectors_of([["a", "b"], [], ["b", "b"]], of_word, 2)
    np.testing.assert_allclose(vectors, np.array([(0.6, 0.8), (0.0, 0.0), (0.0, 1.0)]), rtol=1e-6)
    assert asked == ["a", "b"]
    assert vectors_of([], of_word, 2).shape == (0, 2)
