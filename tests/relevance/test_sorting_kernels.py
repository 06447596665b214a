from __future__ import annotations

import numpy as np
import pytest
from numba import float32, int32, int64, njit
from numba.core.types import Array, Literal

from plant_plugin.relevance.sorting_kernels import nth_largest, sift, sort

SIZES = [1, 2, 3, 10, 1000]


@pytest.mark.parametrize("size", SIZES)
def test_sort_is_numpys(size: int) -> None:
    drawn = np.random.default_rng(size)
    for values in (drawn.integers(0, size, size).astype(np.int32), drawn.permutation(size).astype(np.int32)):
        mine = values.copy()
        sort(mine)
        np.testing.assert_array_equal(mine, np.sort(values))


@pytest.mark.parametrize("size", SIZES)
def test_the_nth_largest_is_numpys(size: int) -> None:
    values = np.random.default_rng(size).standard_normal(size).round(1).astype(np.float32)  # many are equal
    sizes = np.sort(np.abs(values))
    for most in {1, 2, size // 2, size - 1, size} & set(range(1, size + 1)):
        assert nth_largest(values, most) == sizes[size - most]


def test_a_heap_is_compiled_once_for_each_type() -> None:
    for function, values, *rest in ((sort, int32), (nth_largest, float32, int64)):
        njit(function.py_func).compile((Array(values, 1, "C"), *rest))  # none of it comes from a cache
    assert not any(isinstance(kind, Literal) for types in sift.overloads for kind in types)
    assert {types[0].dtype.name for types in sift.overloads} >= {"int32", "float32"}
