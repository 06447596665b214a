"""Arrays from files, checked before any compiled code reads them.

numba and scipy believe what an array says of itself: an index beyond the end is a crash, or a number from elsewhere in
memory. So whoever reads arrays from a file says what they have to be, and gets them, or an error with file and array.
"""

from __future__ import annotations

import math
import tokenize
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.files import above_limit, limit

LARGEST_INFLATED = 1 << 29  # bytes of an archive's content, where that is more than HIGHEST_RATIO times the archive
HIGHEST_RATIO = 100
WHOLE, NUMBERS, TEXTS, TRUTHS = "iu", "fiu", "US", "b"  # kinds of numpy's types

Shape = tuple[int | None, ...]  # None: any length
Array = npt.NDArray[Any]


@dataclass(frozen=True, repr=False)
class ArrayFile:
    """The arrays of an ``.npz`` file, each of which is checked as it is taken.

    Attributes:
        path: The file.
        arrays: As they are in the file.
        what: What it should be, for errors: "a matrix of scores".
        fix: What to do where it is none.
        error: Raised then.
    """

    path: Path
    arrays: Mapping[str, Array]
    what: str = "arrays"
    fix: str = "train anew"
    error: type[PlantError] = CheckpointError

    @classmethod
    def read(cls, path: Path, what: str, *, fix: str, error: type[PlantError] = CheckpointError) -> ArrayFile:
        """Read all arrays; pickles are refused.

        Raises:
            PlantError: ``error``: the file is missing or torn, or unfolds to far more than it is.
        """
        try:
            return cls(path, _read(path, fix), what, fix, error)
        except PlantError as problem:
            raise error(f"not {what}: {problem.what}", where=str(path), fix=problem.fix or fix) from problem
        except FileNotFoundError as problem:
            raise error(f"{what} cannot be read: no such file", where=str(path), fix=fix) from problem
        except Exception as problem:  # zipfile, zlib and numpy raise errors of a dozen kinds on damaged bytes
            message = f"not {what}, or torn: it cannot be read ({type(problem).__name__})"
            raise error(message, where=str(path), fix=fix) from problem

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def under(self, prefix: str, besides: Collection[str] = ()) -> ArrayFile:
        """Return the arrays whose names begin so, under the rest of the name.

        It leaves out those whose whole names are in ``besides``.
        """
        chosen = {name: array for name, array in self.arrays.items() if name.startswith(prefix) and name not in besides}
        return replace(self, arrays={name.removeprefix(prefix): array for name, array in chosen.items()})

    def array(
        self,
        name: str,
        kinds: str,
        shape: Shape = (),
        *,
        low: int | None = None,
        high: int | None = None,
        nan: bool = False,
    ) -> Array:
        """Return an array of one of these kinds and of this shape, with no value below ``low`` or above ``high``.

        Floats are finite, unless they may be ``nan``.
        """
        if (text := self.arrays.get(name)) is None:
            self.wrong(name, "is missing")
        if text.dtype.kind not in kinds:
            self.wrong(name, f"holds {text.dtype}")
        if not _fits(text, shape):
            wanted_shape = " × ".join("…" if wanted is None else f"{wanted:,}" for wanted in shape) or "a single value"
            self.wrong(name, f"is {' × '.join(map(str, text.shape)) or 'a single value'}, not {wanted_shape}")
        if text.dtype.kind == "f" and not nan and not np.isfinite(text).all():
            self.wrong(name, "holds a value that is no finite number")
        if text.size and low is not None and text.min() < low:
            self.wrong(name, f"holds a value below {low}")
        if text.size and high is not None and text.max() > high:
            self.wrong(name, f"holds a value above {high:,}")
        return text

    def text(self, name: str) -> str:
        """Return a single text."""
        array = self.array(name, TEXTS).item()
        return array if isinstance(array, str) else array.decode("ascii", "replace")

    def whole(self, name: str, *, low: int = 0, high: int = 2**31 - 1) -> int:
        """Return a single whole number."""
        return int(self.array(name, WHOLE, low=low, high=high))

    def number(self, name: str) -> float:
        """Return a single finite number."""
        return float(self.array(name, NUMBERS))

    def rows(
        self, names: tuple[str, str, str], shape: tuple[int, int], *, kinds: str = NUMBERS, ordered: bool = False
    ) -> sp.csr_array:
        """Return a CSR matrix of this shape: ``names`` are those of data, columns and offsets.

        Columns lie within the matrix; ``ordered``: each row's are ascending, and none is there twice.
        """
        of_data, of_columns, of_offsets = names
        offsets = self.array(of_offsets, WHOLE, (shape[0] + 1,), low=0)
        columns = self.array(of_columns, WHOLE, (None,), low=0, high=shape[1] - 1)
        data = self.array(of_data, kinds, (len(columns),))
        if not cuts(offsets, len(columns)):
            self.wrong(of_offsets, f"does not cut {len(columns):,} entries into rows")
        if ordered and len(columns):
            ascending = columns[1:] > columns[:-1]
            starts = offsets[1:-1]
            ascending[starts[(starts > 0) & (starts < len(columns))] - 1] = True  # the first of a row follows no other
            if not ascending.all():
                self.wrong(of_columns, "is not ascending in each row")
        if data.dtype == np.float16:  # which sparse matrices cannot be of
            data = data.astype(np.float32)
        return sp.csr_array((data, columns, offsets), shape=shape)

    def wrong(self, name: str, what: str) -> NoReturn:
        """Raise the error for one of the arrays."""
        raise self.error(f"not {self.what}: {name} {what}", where=str(self.path), fix=self.fix)


def read_sparse(path: Path, what: str, *, error: type[PlantError], fix: str) -> sp.csr_matrix:
    """Read what ``scipy.sparse.save_npz`` wrote, of numbers or truths; CSR, CSC and COO.

    Raises:
        PlantError: ``error``: not such a file, or its indices do not lie within the matrix.
    """
    file = ArrayFile.read(path, what, error=error, fix=fix)
    form, kinds = file.text("format"), NUMBERS + TRUTHS
    height, width = (int(length) for length in file.array("shape", WHOLE, (2,), low=0))
    compressed = ("data", "indices", "indptr")
    if form == "csr":
        return sp.csr_matrix(file.rows(compressed, (height, width), kinds=kinds))
    if form == "csc":
        return sp.csr_matrix(file.rows(compressed, (width, height), kinds=kinds).T)
    if form != "coo":
        file.wrong("format", f"is none that is read here: {form[:20]!r}")
    coordinates = {"row": height, "col": width}
    row, column = (file.array(name, WHOLE, (None,), low=0, high=length - 1) for name, length in coordinates.items())
    if len(row) != len(column):
        file.wrong("col", f"has {len(column):,} entries, row {len(row):,}")
    return sp.csr_matrix((file.array("data", kinds, (len(row),)), (row, column)), shape=(height, width))


def cuts(offsets: Array, length: int) -> bool:
    """Tell whether offsets (N + 1,) cut an array of this length into N runs."""
    whole = len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == length
    return bool(whole) and not (offsets[1:] < offsets[:-1]).any()


def mapped(path: Path, kind: type[np.number] | None, shape: Shape) -> Array:
    """Map an array of numbers, of exactly this type, from the disk; a ``ValueError`` where it is none."""
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except tokenize.TokenError as error:  # numpy parses a damaged header as Python 2 would have written it
        raise ValueError(f"{path.name}: no header") from error
    numbers = array.dtype.kind in NUMBERS if kind is None else array.dtype == kind
    if not numbers or not _fits(array, shape):
        raise ValueError(f"{path.name}: {array.dtype} {array.shape}")
    return array


def _read(path: Path, fix: str) -> dict[str, Array]:
    """Read all arrays of an ``.npz`` file whose headers say of themselves what the file holds."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        inflated = sum(member.file_size for member in archive.infolist())  # zipfile reads no more than it says there
        if inflated > limit(max(LARGEST_INFLATED, HIGHEST_RATIO * path.stat().st_size)):
            what = f"{path.stat().st_size:,} bytes that inflate to {inflated:,}"
            raise above_limit(what, str(path), fix)
        for info in archive.infolist():
            with archive.open(info) as stream:
                # Before numpy takes memory for what the header promises.
                first = np.lib.format.read_magic(stream) == (1, 0)
                header = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
                shape, _, kind = header(stream)
                if kind.hasobject or stream.tell() + kind.itemsize * math.prod(shape) != info.file_size:
                    raise PlantError(f"{info.filename.removesuffix('.npy')} is not what its header says")
                stream.seek(0)
                arrays[info.filename.removesuffix(".npy")] = np.lib.format.read_array(stream, allow_pickle=False)
                stream.read(1)  # at its end the checksum is compared
    return arrays


def _fits(array: Array, shape: Shape) -> bool:
    return array.ndim == len(shape) and all(
        wanted in (None, length) for length, wanted in zip(array.shape, shape, strict=True)
    )
