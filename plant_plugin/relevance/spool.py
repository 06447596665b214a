"""Arrays that grow or are filled once, in memory or in nameless temporary files."""

from __future__ import annotations

import io
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import PlantError
from plant_plugin.files import reserve

Number = TypeVar("Number", bound=np.generic)


class Spool(ExitStack):
    """Makes such arrays. The files have no names: nothing is left behind even if the process is killed.

    When it is closed its files are too; what is mapped stays readable. It is closed by ``with``, which turns the
    system's errors of the block into a :class:`PlantError`. ``folder`` None is the system's temporary folder.
    """

    def __init__(self, folder: str | Path | None = None, *, on_disk: bool) -> None:
        super().__init__()
        self._folder, self._on_disk = folder, on_disk

    def file(self) -> IO[bytes]:
        """An empty file that parts of an array are written to."""
        if not self._on_disk:
            return io.BytesIO()
        if self._folder is not None:
            Path(self._folder).mkdir(parents=True, exist_ok=True)
        return self.enter_context(tempfile.TemporaryFile(dir=self._folder))

    def array(self, file: IO[bytes], kind: type[Number]) -> npt.NDArray[Number]:
        """Return a file's content as one array; what lies on disk stays there and is mapped."""
        file.flush()
        if not file.tell():
            return np.empty(0, kind)
        return np.frombuffer(file.getbuffer(), kind) if isinstance(file, io.BytesIO) else np.memmap(file, kind, "r")

    def empty(self, length: int) -> npt.NDArray[np.int32]:
        """An array to be filled."""
        if not self._on_disk or not length:
            return np.empty(length, np.int32)
        file = self.file()
        file.truncate(4 * length)
        reserve(file, 4 * length)
        return np.memmap(file, np.int32, "r+", shape=(length,))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        super().__exit__(kind, error, traceback)
        if isinstance(error, OSError):
            fix = "free some space, set TMPDIR to another disk, or give more memory"
            what = f"temporary files cannot be kept ({error.strerror or error})"
            raise PlantError(what, where="relevance", fix=fix) from error
