from __future__ import annotations

import random

import numpy as np
import pytest

from plant_plugin.relevance.names.index import WINDOW, NameIndex, Translated, stems_of
from plant_plugin.relevance.names.place_kernels import CHUNK, rivals_at


@pytest.mark.parametrize("length", [30, CHUNK - 1, CHUNK, CHUNK + 3, 3 * CHUNK])
def test_the_best_window_is_the_first_that_begins_with_a_word_of_the_name(length: int) -> None:
    drawn = random.Random(length)
    words = [f"w{number}" for number in range(12)]
    index = NameIndex.of([(f"L{number}", " ".join(drawn.sample(words, drawn.randint(1, 4)))) for number in range(30)])
    for _ in range(5):
        text = [drawn.choice(words) if drawn.random() < 0.2 else "other" for _ in range(length)]
        result = index.find(text, Translated(index.stems, {}))
        for name, cover, place, matched in zip(
            result.names.tolist(), result.cover, result.places.tolist(), result.matched.tolist(), strict=True
        ):
            stems = {stem: float(index.idf[index.stems[stem]]) for stem in stems_of(index.names[name])}
            begins = [start for start, word in enumerate(text) if word in stems]
            held = {start: stems.keys() & set(text[start : start + WINDOW]) for start in begins}
            sums = {start: sum(stems[stem] for stem in inside) for start, inside in held.items()}
            assert cover == pytest.approx(max(sums.values()) / sum(stems.values()), rel=1e-5)
            assert place == next(start for start in begins if sums[start] > max(sums.values()) - 1e-4)
            assert matched == len(held[place])


def test_names_of_other_labels_at_the_same_place_are_counted() -> None:
    places, labels = np.array([2, 5, 9, 30], np.int32), np.array([0, 1, 2, 3], np.int32)
    totals, held = np.array([4, 6, 3, 9], np.float32), np.array([4, 4, 3, 9], np.float32)
    of, at, mine = np.array([0, 2], np.int32), np.array([3, 9], np.int64), np.array([4, 3], np.float32)
    count, more, lowest = rivals_at(places, labels, totals, held, of, at, mine, np.float32(0.1), np.float32(20), 4)
    assert count.tolist() == [1, 1]
    assert more.tolist() == [4, 4]
    assert lowest.tolist() == [2, 2]  # of the name at 5 two are missing
