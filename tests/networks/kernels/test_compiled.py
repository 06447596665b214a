"""Functions of the compiled loops, one number at a time, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float32, int64, njit
from numba.core.types import Array, Literal

from plant_plugin.networks.kernels import compiled


def test_powers_of_two_are_accurate_to_single_precision() -> None:
    exponents = np.concatenate([np.linspace(-126, 127, 501), [-0.5, 0.0, 0.5]]).astype(np.float32)
    powers = np.array([compiled.power_of_two(exponent) for exponent in exponents])
    assert powers.dtype == np.float32
    np.testing.assert_allclose(powers, np.exp2(exponents.astype(np.float64)), rtol=2e-7)


def test_coefficients_meet_the_function_highest_power_first() -> None:
    factors = compiled.coefficients(lambda x: 3 * x**2 - 2 * x + 0.5, 2, (-1.0, 2.0))
    np.testing.assert_allclose(factors, [3, -2, 0.5], atol=1e-6)


def test_softplus_and_sigmoid_of_single_precision_are_those_of_double() -> None:
    for x in np.linspace(-90, 90, 361).astype(np.float32):
        expected = compiled.softplus_and_sigmoid(float(x))
        np.testing.assert_allclose(compiled._in_single(x), expected, rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("row", [[1.5, -2.0, 1.25], [-3.0, -0.0, -7.5], [-1e38, -3e38]])
def test_the_highest_number_of_a_row(row: list[float]) -> None:
    assert compiled._highest(np.array(row, np.float32)) == np.float32(max(row))


def test_relevance_at_reads_a_sparse_table_and_wipes_it_after_each_label() -> None:
    offsets, types = np.array([0, 2, 3]), np.array([0, 2, 1])
    values = np.array([0.5, 0.25, 1.0], np.float32)
    columns = np.array([[2, 0, 1], [1, 1, 2]])
    relevance = compiled.relevance_at.py_func(np.array([[0, 1], [1, 0]]), columns, offsets, types, values, 3)
    assert relevance.tolist() == [[[0.25, 0.5, 0.0], [0.0, 0.0, 1.0]], [[1.0, 1.0, 0.0], [0.0, 0.0, 0.25]]]


def test_the_sum_of_pairs_is_compiled_once_for_each_type() -> None:
    rows, places = Array(float32, 2, "C"), Array(int64, 2, "C")
    ranking = njit(compiled.add_ranking_rows.py_func, error_model="numpy")  # none of it comes from a cache
    ranking.compile((rows, rows, places, places, int64, Array(float32, 1, "C"), Array(float32, 1, "C"), rows))
    kinds = [kind for types in compiled._sum_of_pairs.overloads for kind in types]
    assert kinds
    assert not any(isinstance(kind, Literal) for kind in kinds)
