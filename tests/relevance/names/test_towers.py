from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.towers import SIZE, Towers


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
