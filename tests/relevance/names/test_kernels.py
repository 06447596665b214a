from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from plant_plugin.relevance.names.index import WINDOW, NameIndex, Translated, stems_of


def test_covers_are_what_trying_every_window_finds() -> None:
    drawn = random.Random(0)
    words = [f"w{number}" for number in range(12)]
    rows = [(f"L{number}", " ".join(drawn.sample(words, drawn.randint(1, 4)))) for number in range(30)]
    index = NameIndex.of(rows)
    for _ in range(20):
        text = drawn.choices([*words, "other"], k=25)
        result = index.find(text, Translated(index.stems, {}))
        assert len(result.names)
        for name, cover, whole in zip(result.names.tolist(), result.cover, result.of_text, strict=True):
            stems = {stem: index.idf[index.stems[stem]] for stem in stems_of(index.names[name])}
            sums = [
                sum(idf for stem, idf in stems.items() if stem in text[start : start + WINDOW])
                for start in range(len(text))
            ]
            assert cover == pytest.approx(max(sums) / sum(stems.values()), rel=1e-5)
            assert whole == pytest.approx(
                sum(idf for s, idf in stems.items() if s in text) / sum(stems.values()), rel=1e-5
            )


def test_trees_are_walked_as_their_nodes_say() -> None:
    from plant_plugin.relevance.names.kernels import sum_of_trees

    # two trees: x0 <= 0 ? 1 : (x1 <= 2 ? 10 : 100); and a leaf of 1000
    features, thresholds = np.array([0, 0, 1, 0, 0, 0], np.int32), np.array([0, 0, 2, 0, 0, 0], np.float32)
    left, right = np.array([1, -1, 3, -1, -1, -1], np.int32), np.array([2, -1, 4, -1, -1, -1], np.int32)
    leaves, roots = np.array([0, 1, 0, 10, 100, 1000], np.float32), np.array([0, 5], np.int32)
    rows = np.array(list(itertools.product((-1, 1), (1, 3))), np.float32)
    sums = sum_of_trees(rows, features, thresholds, left, right, leaves, roots)
    assert sums.tolist() == [1001, 1001, 1010, 1100]
