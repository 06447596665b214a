"""Scores that any program wrote: LibMultiLabel's ``label:score`` lines, a sparse ``.npz`` or a dense ``.npy``."""

from __future__ import annotations

import math
import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError
from plant_plugin.evaluation.ranking import BLOCK_ELEMENTS

MATRICES = (".npz", ".npy")


@dataclass
class NamedScores:
    """Scores with the names that stand beside them in a file, before there is a label set.

    Attributes:
        names: Distinct labels, in order of first occurrence.
        columns: (nnz,) places in ``names``, document by document.
        values: float32 (nnz,).
        counts: (N,) scores of each document; 0 for an empty line.
    """

    names: list[str] = field(repr=False)
    columns: npt.NDArray[np.int64] = field(repr=False)
    values: npt.NDArray[np.float32] = field(repr=False)
    counts: npt.NDArray[np.int64] = field(repr=False)

    def matrix(self, labels: Sequence[str]) -> tuple[sp.csr_matrix, int]:
        """Scores (N, L) of the labels of a label set, and how many scores were of other labels."""
        place = {name: column for column, name in enumerate(labels)}
        new = np.array([place.get(name, -1) for name in self.names], dtype=np.int64)
        columns = new[self.columns] if len(new) else self.columns
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        known = columns >= 0
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[known], minlength=len(self.counts)))])
        found = sp.csr_matrix((self.values[known], columns[known], indptr), shape=(len(self.counts), len(labels)))
        found.sort_indices()
        return found, int((~known).sum())


def read_score_lines(path: str | Path) -> NamedScores:
    """Read ``label:score`` pairs separated by white space, one document a line; an empty line has no scores.

    A label may hold colons: the last one separates. The file may be a ``.gz`` or ``.xz``.

    Raises:
        DataError: The file cannot be read, or a line holds something else, a score that is no finite number, or a
            label twice. Messages name file and line.
    """
    places: dict[str, int] = {}
    columns, values, counts = array("q"), array("f"), array("q")
    with text_lines(Path(path), newline=None) as stream:
        for number, line in enumerate(stream, 1):
            pairs = [pair.rpartition(":") for pair in line.split()]
            try:
                scores = [float(score) for _, _, score in pairs]
            except ValueError:
                raise _bad_line(path, number, "something that is not label:score") from None
            if not all(name for name, _, _ in pairs):
                raise _bad_line(path, number, "a score without a label")
            if not all(map(math.isfinite, scores)):
                raise _bad_line(path, number, "a score that is no finite number")
            found = [places.setdefault(name, len(places)) for name, _, _ in pairs]
            if len(set(found)) < len(found):
                raise _bad_line(path, number, "a label twice")
            columns.extend(found)
            values.extend(scores)
            counts.append(len(found))
    return NamedScores(
        list(places), np.array(columns, np.int64), np.array(values, np.float32), np.array(counts, np.int64)
    )


def read_score_matrix(path: str | Path) -> sp.csr_matrix | npt.NDArray[np.float32]:
    """Read a matrix (N, L) whose columns are the lines of a label file.

    Args:
        path: ``.npz`` as ``scipy.sparse.save_npz`` writes it, of which only the stored entries are scored (also stored
            zeros); or a dense ``.npy``, left on disk and read as it is needed, in which -inf is no score.

    Raises:
        DataError: Not such a file (one with pickles is refused too), or not a matrix of numbers.
    """
    try:
        if Path(path).suffix == ".npy":
            dense = np.load(path, mmap_mode="r", allow_pickle=False)
            if dense.ndim != 2 or dense.dtype.kind not in "fiu":
                raise ValueError("not a matrix of numbers")
            _check_dense(dense, path)
            found: npt.NDArray[np.float32] = dense
            return found
        loaded: Any = sp.load_npz(path)  # refuses pickles
        if loaded.ndim != 2:
            raise ValueError("not a matrix")
        scores = sp.csr_matrix(loaded, dtype=np.float32)
        scores.check_format(full_check=True)  # columns beyond the shape
        scores.sum_duplicates()
    except FileNotFoundError as error:
        raise DataError("no such file", where=str(path), fix="check --scores") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"no matrix of scores ({type(error).__name__})",
            where=str(path),
            fix="write scipy.sparse.save_npz(file, csr_matrix) or numpy.save(file, array), documents × labels",
        ) from error
    if not np.isfinite(scores.data).all():
        raise DataError("a score is no finite number", where=str(path), fix="leave out what was not scored")
    return scores


def _check_dense(scores: npt.NDArray[Any], path: str | Path) -> None:
    step = max(1, BLOCK_ELEMENTS // max(1, scores.shape[1]))
    for start in range(0, len(scores), step):
        block = scores[start : start + step]
        bad = (np.isnan(block) | np.isposinf(block)).any(axis=1)
        if bad.any():
            raise DataError(
                "a score is no finite number",
                where=f"{path}, row {start + int(bad.argmax()) + 1}",
                fix="only -inf may stand in the place of a score, where a label was not scored",
            )


def _bad_line(path: str | Path, number: int, what: str) -> DataError:
    return DataError(
        f"the line holds {what}",
        where=f"{path}, line {number}",
        fix="write label:score pairs with spaces between them, each label once a line",
    )
