"""Arrays that grow or are filled once, in memory or in nameless temporary files."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import PlantError
from plant_plugin.files import reserve


class Growing:
    """An array that is appended to and read only when it is finished."""

    def __init__(self, kind: Any, file: IO[bytes]) -> None:
        self._kind, self._file = np.dtype(kind), file

    def append(self, part: npt.NDArray[Any]) -> None:
        """Add a part at the end.

        Raises:
            PlantError: The disk is full.
        """
        with _told():
            self._file.write(np.ascontiguousarray(part, dtype=self._kind).data)

    def finish(self) -> npt.NDArray[Any]:
        """All parts as one array; what lies in a file stays there and is mapped."""
        with _told():
            self._file.flush()
        if not self._file.tell():
            return np.empty(0, self._kind)
        if isinstance(self._file, io.BytesIO):
            return np.frombuffer(self._file.getbuffer(), self._kind)
        return np.memmap(self._file, self._kind, "r")


class Spool(ExitStack):
    """Makes such arrays. The files have no names: nothing is left behind even if the process is killed.

    When it is closed its files are too; what is mapped stays readable.

    Args:
        folder: Where they are made; None for the system's temporary folder.
        on_disk: False keeps everything in memory.
    """

    def __init__(self, folder: str | Path | None = None, *, on_disk: bool) -> None:
        super().__init__()
        self._folder, self._on_disk = folder, on_disk

    def growing(self, kind: Any) -> Growing:
        """An empty array that grows."""
        return Growing(kind, self._file() if self._on_disk else io.BytesIO())

    def empty(self, length: int) -> npt.NDArray[np.int32]:
        """An int32 array to be filled."""
        if not self._on_disk or not length:
            return np.empty(length, np.int32)
        file = self._file()
        with _told():
            file.truncate(4 * length)
            reserve(file, 4 * length)
        return np.memmap(file, np.int32, "r+", shape=(length,))

    def _file(self) -> IO[bytes]:
        with _told():
            if self._folder is not None:
                Path(self._folder).mkdir(parents=True, exist_ok=True)
            return self.enter_context(tempfile.TemporaryFile(dir=self._folder))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        fix = "free some space, set TMPDIR to another disk, or give more memory"
        what = f"temporary files cannot be kept ({error.strerror or error})"
        raise PlantError(what, where="relevance", fix=fix) from error
