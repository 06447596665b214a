from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.word_features import FEATURES, WordWeights, features_of

WORDS = ["fractura", "de", "la", "muñeca", "derecha", "de", "x"]


def test_summed_weights_are_the_product_with_the_features() -> None:
    weights = np.random.default_rng(0).normal(size=FEATURES).astype(np.float32)
    sums = WordWeights(weights).sums(WORDS)
    np.testing.assert_allclose(sums, features_of(WORDS) @ weights, rtol=1e-4, atol=1e-4)


def test_a_word_alone_has_features_of_its_neighbourhood() -> None:
    alone, beside = features_of(["muñeca"]), features_of(WORDS)[[3]]
    assert alone.shape == (1, FEATURES)
    assert 0 < np.isin(alone.indices, beside.indices).mean() < 1
