"""Text files read line by line, plain, ``.gz`` or ``.xz``, whose errors of reading are sentences without content."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from plant_plugin.errors import DataError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


class TextLines:
    r"""The lines of a file, with their ends, as a context manager.

    Args:
        path: The file.
        newline: ``"\n"`` ends lines there alone; ``""`` at any line end, left as it is (what
            ``csv`` wants); None at any line end, made one.
        encoding: Of the text; a byte order mark of UTF-8 is skipped.

    Raises:
        DataError: The file cannot be opened, or (while reading) is cut off or of another encoding.
    """

    def __init__(self, path: Path, newline: str | None = "\n", encoding: str = "utf-8-sig") -> None:
        self.path, self.encoding = path, encoding
        try:
            binary = cast("IO[bytes]", OPENERS.get(path.suffix, open)(path, "rb"))
        except OSError as error:
            raise self._explained(error) from error
        self._stream = io.TextIOWrapper(binary, encoding=encoding, newline=newline)
        self._lines = self._read()

    def __enter__(self) -> TextLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)

    def _read(self) -> Iterator[str]:
        number = 0
        try:
            for number, line in enumerate(self._stream, 1):  # noqa: B007  # the number is for the error below
                yield line
        except UnicodeDecodeError:
            # `from None`: the original error carries the text.
            raise DataError(
                f"not valid {self.encoding.removesuffix('-sig').upper()}",
                where=f"{self.path}, soon after line {number}",
                fix="save the file as UTF-8 (iconv -f latin1 -t utf-8)",
            ) from None
        except (OSError, *DAMAGED) as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> DataError:
        if isinstance(error, DAMAGED):
            what = f"the compressed file is cut off or not a {self.path.suffix} file"
            fix = "download it again and compare its checksum"
            return DataError(what, where=str(self.path), fix=fix)
        if isinstance(error, FileNotFoundError):
            return DataError("no such file", where=str(self.path), fix="check the path")
        reason = getattr(error, "strerror", None) or type(error).__name__
        return DataError(f"the file cannot be read ({reason})", where=str(self.path), fix="check the path")
