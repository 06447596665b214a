"""Arrays that grow or are filled once, in memory or in nameless temporary files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import PlantError
from plant_plugin.files import reserve


class Growing:
    """An array that is appended to and read only when it is finished."""

    def __init__(self, kind: Any, file: IO[bytes] | None) -> None:
        self._kind, self._file = np.dtype(kind), file
        self._parts: list[npt.NDArray[Any]] = []
        self._length = 0

    def append(self, part: npt.NDArray[Any]) -> None:
        """Add a part at the end.

        Raises:
            PlantError: The disk is full.
        """
        self._length += len(part)
        if self._file is None:
            self._parts.append(part)
            return
        try:
            self._file.write(np.ascontiguousarray(part, dtype=self._kind).data)
        except OSError as error:
            raise _refused(error) from error

    def finish(self) -> npt.NDArray[Any]:
        """All parts as one array; what lies in a file stays there and is mapped."""
        if self._file is None:
            whole = np.concatenate([np.empty(0, self._kind), *self._parts])
            self._parts = []
            return whole
        try:
            self._file.flush()
        except OSError as error:
            raise _refused(error) from error
        return (
            np.memmap(self._file, self._kind, "r", shape=(self._length,)) if self._length else np.empty(0, self._kind)
        )


class Spool:
    """Makes such arrays. The files have no names: nothing is left behind even if the process is killed.

    Args:
        folder: Where they are made; None for the system's temporary folder.
        on_disk: False keeps everything in memory.
    """

    def __init__(self, folder: str | Path | None = None, *, on_disk: bool) -> None:
        self._folder, self._on_disk = folder, on_disk
        self._files: list[IO[bytes]] = []

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.close()  # what is mapped stays readable

    def growing(self, kind: Any) -> Growing:
        """An empty array that grows."""
        return Growing(kind, self._file() if self._on_disk else None)

    def empty(self, length: int) -> npt.NDArray[np.int32]:
        """An int32 array to be filled."""
        if not self._on_disk or not length:
            return np.empty(length, np.int32)
        file = self._file()
        try:
            file.truncate(4 * length)
            reserve(file, 4 * length)
        except OSError as error:
            raise _refused(error) from error
        return np.memmap(file, np.int32, "r+", shape=(length,))

    def _file(self) -> IO[bytes]:
        try:
            if self._folder is not None:
                Path(self._folder).mkdir(parents=True, exist_ok=True)
            file: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)
        except OSError as error:
            raise _refused(error) from error
        self._files.append(file)
        return file


def _refused(error: OSError) -> PlantError:
    fix = "free some space, set TMPDIR to another disk, or give more memory"
    return PlantError(f"temporary files cannot be kept ({error.strerror or error})", where="relevance", fix=fix)
