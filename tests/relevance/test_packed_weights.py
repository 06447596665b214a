from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.mutual_information import write_arrays
from plant_plugin.relevance.packed_weights import STEPS, packed, unpacked

WIDTH = 70_000  # more than 16 bits count to


@pytest.fixture
def weights() -> sp.csr_array:
    dense = sp.random_array((9, WIDTH), density=0.002, rng=np.random.default_rng(1), dtype=np.float32, format="lil")
    dense[0, :], dense[4, :], dense[8, :] = 0, 0, 0
    dense[3, 0], dense[5, WIDTH - 1] = -1.5, 2
    rows = sp.csr_array(dense)
    rows.data = rows.data.astype(np.float16).astype(np.float32)
    return rows


def file_of(weights: sp.csr_array, path: Path) -> ArrayFile:
    write_arrays(path, packed(weights))
    return ArrayFile.read(path, "weights", fix="train anew")


def test_what_is_unpacked_is_what_was_packed(weights: sp.csr_array, tmp_path: Path) -> None:
    found = unpacked(file_of(weights, tmp_path / "w.npz"), weights.shape)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(weights, name))
        assert getattr(found, name).dtype == getattr(weights, name).dtype
    nothing = sp.csr_array((2, 3), dtype=np.float32)
    assert unpacked(file_of(nothing, tmp_path / "0.npz"), (2, 3)).nnz == 0


def test_a_file_takes_less_than_half_of_what_columns_and_32_bits_take(tmp_path: Path) -> None:
    weights = sp.random_array((500, 20_000), density=0.03, rng=np.random.default_rng(1), dtype=np.float32).tocsr()
    file_of(weights, tmp_path / "w.npz")
    assert (tmp_path / "w.npz").stat().st_size < 0.5 * 8 * weights.nnz


def test_a_file_of_before_is_read(weights: sp.csr_array, tmp_path: Path) -> None:
    arrays = {"data": weights.data, "indices": weights.indices, "offsets": weights.indptr}
    write_arrays(tmp_path / "old.npz", arrays)
    found = unpacked(ArrayFile.read(tmp_path / "old.npz", "weights", fix="train anew"), weights.shape)
    assert abs(found - weights).nnz == 0


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        (STEPS, lambda a: a + a.dtype.type(1), "indices holds a value above"),
        (STEPS, lambda a: a[:-1], "offsets does not cut"),
        (STEPS, lambda a: -a.astype(np.int64), "steps holds a value below 0"),
        ("offsets", lambda a: a[::-1].copy(), "offsets does not cut"),
        ("data", lambda a: a[:-1], "data is"),
    ],
)
def test_what_is_no_such_matrix_is_refused(weights: sp.csr_array, tmp_path: Path, name, change, what) -> None:
    file = file_of(weights, tmp_path / "w.npz")
    wrong = replace(file, arrays={**file.arrays, name: change(file.arrays[name])})
    with pytest.raises(CheckpointError, match=what):
        unpacked(wrong, weights.shape)
