"""All scores of a split on disk, read back label by label: what needs every score costs disk, not memory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import PlantError
from plant_plugin.evaluation.ranking import Scores

BLOCK_ELEMENTS = 4_000_000  # scores in memory at a time: 16 MB


class ScoreStore:
    """Scores (N, L) appended row by row to a nameless temporary file, and the truth beside them in memory.

    The file has no name, so that nothing is left behind even if the process is killed.

    Args:
        num_labels: L.
        folder: Where the file is made; None for the system's temporary folder. It grows to 4·N·L bytes.

    Raises:
        PlantError: The folder cannot be written, or the disk is full.
    """

    def __init__(self, num_labels: int, folder: str | os.PathLike[str] | None = None) -> None:
        self.num_labels = num_labels
        self.num_documents = 0
        self._where = str(folder or tempfile.gettempdir())
        self._truth: list[sp.csr_matrix] = []
        try:
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder)
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> ScoreStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the disk space back."""
        with contextlib.suppress(OSError):  # on a full disk, the last rows are still waiting to be written
            self._file.close()

    def append(self, scores: Scores, truth: sp.csr_matrix) -> None:
        """Add a batch of scores (B, L) and its 0/1 truth (B, L)."""
        try:
            self._file.write(np.ascontiguousarray(scores, dtype=np.float32).data)
            self._file.flush()
        except OSError as error:
            raise self._error(error) from error
        self.num_documents += len(scores)
        self._truth.append(truth)

    def truth(self) -> sp.csc_matrix:
        """The truth of all documents (N, L), by column."""
        return sp.csc_matrix(sp.vstack(self._truth, format="csr"))

    def blocks(self) -> Iterator[tuple[int, Scores]]:
        """First label of a block and its scores (labels in the block, N), one block after the other."""
        width = max(1, BLOCK_ELEMENTS // max(1, self.num_documents))
        for start in range(0, self.num_labels, width):
            yield start, self._columns(start, min(start + width, self.num_labels))

    def _columns(self, start: int, stop: int) -> Scores:
        block = np.empty((stop - start, self.num_documents), dtype=np.float32)
        step = max(1, BLOCK_ELEMENTS // self.num_labels)
        for first in range(0, self.num_documents, step):
            count = min(step, self.num_documents - first)
            # A mapping of few rows at a time: mapped pages count as resident memory until it goes.
            rows = np.memmap(
                self._file,
                dtype=np.float32,
                mode="r",
                offset=4 * first * self.num_labels,
                shape=(count, self.num_labels),
            )
            block[:, first : first + count] = rows[:, start:stop].T
        return block

    def _error(self, error: OSError) -> PlantError:
        return PlantError(
            f"the scores cannot be kept on disk ({error.strerror or error})",
            where=self._where,
            fix="free some space there, or leave out AUC-macro and AUC-micro",
        )


def positives(truth: sp.csc_matrix, scores: Scores, start: int) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    """Place in the block and scores of the true documents, for each label of a block that has any."""
    for place in range(len(scores)):
        documents = truth.indices[truth.indptr[start + place] : truth.indptr[start + place + 1]]
        if len(documents):
            yield place, scores[place, documents]
