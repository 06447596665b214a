from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from plant_plugin.relevance.names.compiled import CHUNK, first_labels, nearest_in_cells, rivals_at, sum_of_trees
from plant_plugin.relevance.names.name_index import WINDOW, NameIndex, stems_of
from plant_plugin.relevance.names.translation import Translated


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


def test_the_highest_products_of_the_cells_that_are_looked_at_stay() -> None:
    drawn = np.random.default_rng(0)
    vectors, spans = (drawn.integers(-127, 128, (rows, 48)).astype(np.int8) for rows in (200, 6))
    offsets = np.array([0, 50, 50, 120, 200])
    cells = np.stack([drawn.permutation(4)[:2] for _ in range(6)])
    places = np.full((6, 20), -1, np.int64)
    nearest_in_cells(spans, cells, offsets, vectors, places)
    products = spans.astype(np.int64) @ vectors.astype(np.int64).T
    for row, of_span in enumerate(cells):
        looked_at = np.concatenate([np.arange(offsets[cell], offsets[cell + 1]) for cell in of_span])
        best = looked_at[np.argsort(-products[row, looked_at])[:20]]
        assert sorted(products[row, places[row]]) == sorted(products[row, best])


def test_what_is_left_over_stays_as_it_is() -> None:
    vectors = np.ones((3, 48), np.int8)
    places = np.full((1, 5), -1, np.int64)
    nearest_in_cells(vectors[:1], np.array([[0]]), np.array([0, 2, 3]), vectors, places)
    assert sorted(places[0].tolist()) == [-1, -1, -1, 0, 1]


def test_each_label_of_a_row_is_there_once_in_its_order() -> None:
    rows = np.array([[3, 3, 1, 2, 7], [5, 3, 5, -1, 9], [-1, -1, 4, 4, 4]], np.int32)
    assert first_labels(rows, 3).tolist() == [[3, 1, 2], [5, 3, -1], [-1, -1, -1]]


def test_trees_are_walked_as_their_nodes_say() -> None:
    # two trees: x0 <= 0 ? 1 : (x1 <= 2 ? 10 : 100); and a leaf of 1000
    features, thresholds = np.array([0, 0, 1, 0, 0, 0], np.int32), np.array([0, 0, 2, 0, 0, 0], np.float32)
    left, right = np.array([1, -1, 3, -1, -1, -1], np.int32), np.array([2, -1, 4, -1, -1, -1], np.int32)
    leaves, roots = np.array([0, 1, 0, 10, 100, 1000], np.float32), np.array([0, 5], np.int32)
    rows = np.array(list(itertools.product((-1, 1), (1, 3))), np.float32)
    sums = sum_of_trees(rows, features, thresholds, left, right, leaves, roots)
    assert sums.tolist() == [1001, 1001, 1010, 1100]
