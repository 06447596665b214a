from __future__ import annotations

import numpy as np
import pytest

from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.nearest import LOOKED_AT, MOST, Block


def _vectors(number: int, seed: int) -> Floats:
    drawn = np.random.default_rng(seed).normal(size=(number, 48)).astype(np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def _block(vectors: Floats) -> Block:
    return Block.of(np.ones(len(vectors), bool), np.arange(len(vectors), dtype=np.int32) + 7, vectors)


@pytest.mark.parametrize("names", [1, 5, 63, 140])
def test_of_few_names_all_are_looked_at(names: int) -> None:
    vectors, spans = _vectors(names, 0), _vectors(9, 1)
    block = _block(vectors)
    assert len(block.centres) <= LOOKED_AT
    values, nearest = block.nearest(spans)
    exact = spans @ vectors.T
    assert values.shape == nearest.shape == (9, min(names, MOST))
    np.testing.assert_allclose(values, np.take_along_axis(exact, nearest - 7, axis=1), atol=1e-6)
    assert (np.diff(values, axis=1) <= 0).all()
    assert np.abs(values[:, 0] - exact.max(axis=1)).max() < 0.01  # chosen by 8 bits, measured by all
    least = np.sort(exact, axis=1)[:, -values.shape[1]]
    assert (values[:, -1] > least - 0.02).all()


def test_of_many_names_nearly_all_of_the_nearest_are_looked_at() -> None:
    # names like each other, as those of a code system are
    vectors = _vectors(300, 0).repeat(30, axis=0) + 0.5 * _vectors(9000, 1)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    spans = vectors[::300] + 0.5 * _vectors(30, 2)
    block = _block(vectors)
    assert len(block.centres) > LOOKED_AT
    _, nearest = block.nearest(spans)
    expected = np.argsort(-spans @ vectors.T, axis=1)[:, :10] + 7
    assert np.mean([np.isin(row, mine).mean() for row, mine in zip(expected, nearest, strict=True)]) > 0.95
    assert sorted(block.names.tolist()) == list(range(7, 9007))


def test_cells_hold_no_more_than_are_there() -> None:
    same = np.ones((2000, 48), np.float32) / np.float32(48**0.5)  # all in one cell, so that others are empty
    values, nearest = _block(same).nearest(_vectors(3, 0))
    assert (values >= -1).all()
    assert ((nearest >= 7) | (values == -1)).all()


def test_nothing_is_near_where_there_is_nothing() -> None:
    empty = Block.of(np.zeros(4, bool), np.empty(0, np.int32), np.empty((0, 48), np.float32))
    assert empty.nearest(_vectors(3, 0))[0].shape == (3, 0)
    assert _block(_vectors(5, 0)).nearest(np.empty((0, 48), np.float32))[1].shape == (0, 5)
