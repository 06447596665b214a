from __future__ import annotations

import itertools
import random

import numpy as np
import scipy.sparse as sp

from plant_plugin.relevance.names.telling import telling

LEAST = 0.3


def test_of_a_name_that_is_held_enough_of_a_telling_stem_is_held() -> None:
    drawn = random.Random(0)
    idf = np.array([drawn.uniform(0.01, 5) for _ in range(12)], np.float32)
    rows = [sorted(drawn.sample(range(12), drawn.randint(1, 6))) for _ in range(40)]
    entries = np.ones(sum(map(len, rows)), np.float32), np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_array(entries, (40, 12))
    first, others, rest = telling(matrix, idf, matrix @ idf, LEAST)
    np.testing.assert_allclose(rest, others.toarray() @ idf, rtol=1e-5)
    np.testing.assert_array_equal((first.T + others).toarray(), matrix.toarray())
    assert others.nnz
    by_name = sp.csr_array(first.T)
    for name, row in enumerate(rows):
        stems = set(by_name.indices[by_name.indptr[name] : by_name.indptr[name + 1]].tolist())
        for size in range(1, len(row) + 1):
            for held in itertools.combinations(row, size):
                if idf[list(held)].sum() >= LEAST * idf[row].sum():
                    assert stems & set(held)
