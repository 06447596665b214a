"""The compiled loops over pairs against NumPy."""

from __future__ import annotations

import numpy as np

from plant_plugin.l2r.compiled import add_pair_gradients, score_pairs


def test_scores_and_gradients_by_numpy() -> None:
    random = np.random.default_rng(0)
    tokens, labels, weight = (random.normal(size=shape) for shape in ((5, 3), (4, 3), (3,)))
    inner = tokens[:, None] + labels
    scores = np.full((5, 4), np.nan)
    score_pairs(tokens, labels, weight, scores)
    np.testing.assert_allclose(scores, np.maximum(inner, 0) @ weight)
    arriving = random.normal(size=(5, 4)) * (random.random((5, 4)) < 0.5)
    sums = np.ones_like(tokens), np.ones_like(labels), np.ones_like(weight)  # gradients are added to these
    add_pair_gradients(tokens, labels, weight, arriving, *sums)
    of_inner = arriving[..., None] * weight * (inner > 0)
    expected = of_inner.sum(1), of_inner.sum(0), (arriving[..., None] * np.maximum(inner, 0)).sum((0, 1))
    for total, gradient in zip(sums, expected, strict=True):
        np.testing.assert_allclose(total, 1 + gradient)


def test_a_broken_number_passes_on_only_where_a_gradient_arrives() -> None:
    tokens, labels, weight = np.array([[np.nan], [1.0]]), np.array([[2.0]]), np.array([1.5])
    sums = np.zeros_like(tokens), np.zeros_like(labels), np.zeros_like(weight)
    add_pair_gradients(tokens, labels, weight, np.array([[0.0], [2.0]]), *sums)
    assert [total.tolist() for total in sums] == [[[0.0], [3.0]], [[3.0]], [6.0]]
