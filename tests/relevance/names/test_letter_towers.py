from __future__ import annotations

import numpy as np

from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.letter_towers import SIZE, Towers, vectors_of


def test_a_text_is_the_sum_of_its_words_and_each_word_is_looked_up_once() -> None:
    asked: list[str] = []

    def of_word(word: str) -> Floats:
        asked.append(word)
        return {"a": np.array([3, 0], np.float32), "b": np.array([0, 4], np.float32)}[word]

    vectors = vectors_of([["a", "b"], [], ["b", "b"]], of_word, 2)
    np.testing.assert_allclose(vectors, np.array([(0.6, 0.8), (0.0, 0.0), (0.0, 1.0)]), rtol=1e-6)
    assert asked == ["a", "b"]
    assert vectors_of([], of_word, 2).shape == (0, 2)


def test_words_come_near_the_names_that_they_were_paired_with() -> None:
    words = [(f"zzq{number}a", f"name{number}xx") for number in range(40)]
    pairs = [([word], [name], name) for word, name in words] * 20
    trained, again = Towers.fit(pairs, seed=1), Towers.fit(pairs, seed=1)
    near = trained.vectors([[word] for word, _ in words]) @ trained.vectors([[name] for _, name in words]).T
    assert (near.argmax(axis=1) == np.arange(40)).mean() > 0.9
    np.testing.assert_array_equal(trained.table.numpy(), again.table.numpy())


def test_a_vector_has_length_1_or_0_of_no_word() -> None:
    vectors = Towers.fit([]).vectors([["word", "other"], []])
    assert vectors.shape == (2, SIZE)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0], atol=1e-6)
