from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.relevance.counts import TILE, mutual_information, product_turned
from plant_plugin.relevance.ridge import RidgeOptions

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6)


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"


def test_the_compiled_product_is_scipys_turned() -> None:
    random = np.random.default_rng(5)
    table = random.random((2 * TILE + 3, 40), dtype=np.float32) * (random.random((2 * TILE + 3, 40)) < 0.2)
    table[[0, TILE]] = 0  # terms of no document
    sparse = sp.csr_array(table)
    dense = random.random((40, 7), dtype=np.float32)
    out = np.full((7, sparse.shape[0] + 4), np.nan, np.float32)
    product_turned(sparse.indptr, sparse.indices, sparse.data, dense, out[:, 4:])
    np.testing.assert_array_equal(out[:, 4:], (sparse @ dense).T)  # to the last bit
    assert np.isnan(out[:, :4]).all()


def test_values_stay_exact_close_to_independence() -> None:
    # One pair more than expected by chance among a million documents: 1.6e-11 nats, lost by a sum of logarithms.
    half = 5 * 10**5
    assert mutual_information(half // 2 + 2, half, half, 10**6) == pytest.approx((2 / 250_000) ** 2 / 2, rel=1e-6)


@pytest.mark.parametrize("counts", [(1, 2, 3, 10), (0, 2, 3, 10), (2, 2, 2, 10), (2, 2, 10, 10), (1, 1, 1, 1)])
def test_mutual_information_by_entropies(counts: tuple[int, int, int, int]) -> None:
    """H(X) + H(Y) - H(X, Y), which is the same number by another road."""
    both, with_label, with_token, total = counts

    def entropy(*cells: int) -> float:
        shares = np.array([cell for cell in cells if cell]) / total
        return float(-(shares * np.log(shares)).sum())

    joint = (both, with_label - both, with_token - both, total - with_label - with_token + both)
    expected = entropy(with_label, total - with_label) + entropy(with_token, total - with_token) - entropy(*joint)
    assert mutual_information(*counts) == pytest.approx(expected, abs=1e-12)
