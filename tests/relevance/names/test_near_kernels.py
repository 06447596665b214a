from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.near_kernels import nearest_in_cells


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
