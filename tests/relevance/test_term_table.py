from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.relevance import term_table
from plant_plugin.relevance.term_table import TermTable


def drawn(shape: tuple[int, int], density: float, seed: int) -> sp.csr_array:
    """Whole numbers, of which every sum is exact."""
    dense = np.random.default_rng(seed).integers(-9, 10, shape) * (np.random.default_rng(seed).random(shape) < density)
    return sp.csr_array(dense.astype(np.float32))


@settings(deadline=None, max_examples=100)
@given(
    texts=st.integers(0, 20),
    terms=st.integers(1, 60),
    labels=st.integers(1, 40),
    density=st.sampled_from([0, 0.05, 0.25, 1]),
    held=st.sampled_from([1, 50, 2**18]),
    seed=st.integers(0, 9),
)
def test_scores_are_the_product_of_terms_and_weights(
    texts: int, terms: int, labels: int, density: float, held: int, seed: int
) -> None:
    rows, weights = drawn((texts, terms), 0.3, seed), drawn((labels, terms), density, seed + 1)
    before = weights.copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_table, "HELD", held)  # one text at a time, some, all
        found = TermTable.of(weights).scores(rows)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, rows.toarray() @ weights.toarray().T)
    assert abs(weights - before).nnz == 0


def test_frequent_terms_are_dense_and_no_other_holds_them() -> None:
    dense = np.zeros((8, 3), np.float32)
    dense[:, 0], dense[:2, 1], dense[5, 2] = 1, 2, 3
    table = TermTable.of(sp.csr_array(dense))
    assert table.frequent.nonzero()[0].tolist() == [0, 1]
    assert table.of_others.nnz + np.count_nonzero(table.of_frequent) == np.count_nonzero(dense)


def test_a_text_has_the_same_scores_alone_as_among_others() -> None:
    random = np.random.default_rng(0)
    rows, weights = (
        sp.random_array(shape, density=density, rng=random, data_sampler=random.normal, format="csr").astype("f")
        for shape, density in (((40, 300), 0.2), ((90, 300), 0.3))
    )
    table = TermTable.of(weights)
    assert 0 < len(table.of_frequent) < 300
    together = table.scores(rows)
    np.testing.assert_array_equal(np.concatenate([table.scores(rows[[row]]) for row in range(40)]), together)
    np.testing.assert_allclose(together, rows.toarray() @ weights.toarray().T, rtol=1e-5, atol=1e-5)
