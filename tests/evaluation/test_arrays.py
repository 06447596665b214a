"""Arrays from files: what compiled code would crash on is an error that names file and array."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.evaluation.arrays import LARGEST_INFLATED, ArrayFile, cuts, mapped, read_sparse
from plant_plugin.files import LIMITS

MATRIX = sp.csr_array(np.array([[0, 1.5, 0], [0, 0, 0], [2.5, 0, 3.5], [0, 0, 4.5]], dtype=np.float32))
NAMES = ("data", "indices", "indptr")


def written(path: Path, **changes: npt.ArrayLike) -> Path:
    parts: dict[str, Any] = {name: getattr(MATRIX, name) for name in NAMES}
    np.savez(path, **{**parts, "text": np.array("abc"), "number": np.array(2.5), **changes})
    return path


def rows_of(path: Path) -> sp.csr_array:
    return ArrayFile.read(path, "a matrix", fix="make it again").rows(NAMES, (4, 3), kinds="f", ordered=True)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.npz")
    np.testing.assert_array_equal(rows_of(path).toarray(), MATRIX.toarray())
    file = ArrayFile.read(path, "a matrix", fix="make it again")
    assert (file.text("text"), file.number("number")) == ("abc", 2.5)
    assert set(file.under("in").arrays) == {"dices", "dptr"}
    assert set(file.under("in", besides=["indptr"]).arrays) == {"dices"}


@pytest.mark.parametrize(
    ("name", "changed", "told"),
    [
        ("indices", [1, 0, 2**30, 2], "holds a value above 2"),
        ("indices", [1, 0, 3, 2], "holds a value above 2"),
        ("indices", [1, 0, -1, 2], "holds a value below 0"),
        ("indices", [1, 2, 0, 2], "not ascending"),
        ("indices", [1, 2, 2, 2], "not ascending"),
        ("indices", [1, 0, 2], "data is 4, not 3"),
        ("indices", [1.0, 0.0, 2.0, 2.0], "holds float64"),
        ("indices", [[1, 0, 2, 2]], "is 1 × 4, not …"),
        ("indptr", [0, 1, 1, 3, 5], "does not cut"),
        ("indptr", [1, 1, 1, 3, 4], "does not cut"),
        ("indptr", [0, 3, 1, 3, 4], "does not cut"),
        ("indptr", [0, 1, 1, 4], "is 4, not 5"),
        ("data", [1.5, np.nan, 3.5, 4.5], "no finite number"),
        ("data", [1.5, np.inf, 3.5, 4.5], "no finite number"),
        ("data", ["a", "b", "c", "d"], "holds <U1"),
    ],
)
def test_rows_that_lead_nowhere(tmp_path: Path, name: str, changed: Any, told: str) -> None:
    path = written(tmp_path / "a.npz", **{name: np.array(changed)})
    with pytest.raises(CheckpointError) as caught:
        rows_of(path)
    assert "a.npz: not a matrix: " in caught.value.message
    assert told in caught.value.message
    assert "make it again" in caught.value.message


def test_empty_rows_stand_anywhere(tmp_path: Path) -> None:
    for height in range(1, 4):
        for dense in np.ndindex(*(2,) * height):
            matrix = sp.csr_array(np.outer(dense, [0, 1, 1]).astype(np.float32))
            np.savez(tmp_path / "a.npz", **{name: getattr(matrix, name) for name in NAMES})
            file = ArrayFile.read(tmp_path / "a.npz", "a matrix", fix="")
            assert (file.rows(NAMES, (height, 3), ordered=True) != matrix).nnz == 0


def objects(path: Path) -> None:
    written(path, data=np.array([{}, {}, {}, {}], dtype=object))


def longer_than_it_is(path: Path) -> None:
    """A header that promises a terabyte."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (2**38,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.npy", stream.getvalue() + bytes(64))


def a_thousandfold(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as stream:
        shape = ((LARGEST_INFLATED >> 7) + (5 << 20),)
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
        for _ in range(shape[0] // (1 << 20)):
            stream.write(bytes(4 << 20))
        stream.write(bytes(4 * (shape[0] % (1 << 20))))


def flipped(path: Path) -> None:
    content = bytearray(written(path).read_bytes())
    content[content.index(MATRIX.data.tobytes()) + 1] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("make", [objects, longer_than_it_is, a_thousandfold, flipped])
def test_files_that_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None]
) -> None:
    monkeypatch.setenv(LIMITS, "0.01")
    make(tmp_path / "a.npz")
    with pytest.raises(CheckpointError, match=r"a\.npz: not a matrix"):
        rows_of(tmp_path / "a.npz")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_files_of_scipy(tmp_path: Path, form: str) -> None:
    path, matrix = tmp_path / "a.npz", getattr(sp, f"{form}_matrix")(MATRIX, copy=True)
    sp.save_npz(path, matrix)
    np.testing.assert_array_equal(read_sparse(path, "scores", error=DataError, fix="").toarray(), MATRIX.toarray())
    getattr(matrix, {"csr": "indices", "csc": "indices", "coo": "row"}[form])[0] = 2**30
    sp.save_npz(path, matrix)
    with pytest.raises(DataError, match=r"not scores: (indices|row) holds a value above"):
        read_sparse(path, "scores", error=DataError, fix="")


def test_a_sparse_file_of_another_form(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "a.npz", sp.dia_matrix(np.eye(3)))
    with pytest.raises(DataError, match="not scores: format is none that is read here: 'dia'"):
        read_sparse(tmp_path / "a.npz", "scores", error=DataError, fix="")


def test_mapped_arrays_are_of_the_type_and_shape_that_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6, dtype=np.int32).reshape(2, 3))
    assert mapped(path, np.int32, (2, None)).tolist() == [[0, 1, 2], [3, 4, 5]]
    for kind, shape in ((np.int64, (2, 3)), (np.int32, (3, 3)), (np.int32, (6,)), (np.float32, (2, 3))):
        with pytest.raises(ValueError, match=r"a\.npy"):
            mapped(path, kind, shape)
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"."):
        mapped(path, None, (None,))
    np.save(path, np.arange(6, dtype=np.int32))
    path.write_bytes(path.read_bytes().replace(b"(6,)", b"(6  "))  # numpy leaves this one to Python's tokenizer
    with pytest.raises(ValueError, match=r"a\.npy: no header"):
        mapped(path, np.int32, (6,))


def test_offsets() -> None:
    assert cuts(np.array([0, 0, 2, 5]), 5)
    for wrong in ([], [0, 2], [1, 5], [0, 6, 5], [0, 3, 2, 5]):
        assert not cuts(np.array(wrong, dtype=np.int64), 5)
