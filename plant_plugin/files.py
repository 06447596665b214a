"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.errors import PlantError

# Libraries that write through C or Rust report a full disk in their own words, without an error number.
FULL_DISK_PHRASES = (
    "No space left on device",  # safetensors, HDF5
    "requested and",  # numpy: "1000 requested and 12 written"
    "PytorchStreamWriter failed writing",  # torch.save
)

CHUNK = 1 << 20  # bytes


def sha256(path: str | os.PathLike[str]) -> str:
    """Of a file's bytes, in hexadecimal; reads it piece by piece."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it onto ``path`` when the block ends well.

    A reader sees the old file or the new one, never half of it: the temporary file lies in the same folder, so that
    the rename stays on one file system. The temporary name keeps the ending of ``path``, because numpy and others
    append theirs to a name that lacks it. Missing folders are made.

    Args:
        path: The file to be written.

    Yields:
        The path to write to. A block that ends without having written it gets a ``FileNotFoundError``.

    Raises:
        PlantError: The disk is full, the folder cannot be written, or the system refuses otherwise; nothing is left
            behind and an older ``path`` is untouched.
    """
    target = Path(path)
    temporary = target.with_name(f".{uuid.uuid4().hex[:12]}.part{''.join(target.suffixes[-2:])}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, target)
    except BaseException as error:  # also on Ctrl-C: half a file helps nobody
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, Exception) and (explained := _explained(error, target, temporary)):
            raise explained from error
        raise


def append(path: str | os.PathLike[str], text: str) -> None:
    """Add lines to a file; a process that is killed meanwhile leaves at most half of them, for the reader to pass over.

    Raises:
        PlantError: The disk is full, or the file cannot be written.
    """
    try:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise _explained(error, Path(path), Path(path).parent) or error from error


def _explained(error: Exception, target: Path, temporary: Path) -> PlantError | None:
    """The sentence for an error met while writing ``target``; nothing if the error is about something else."""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if full or any(phrase in str(error) for phrase in FULL_DISK_PHRASES):
        return PlantError(
            "the disk is full, nothing was written", where=str(target), fix="free some space or choose another folder"
        )
    if not isinstance(error, OSError):
        return None
    ours = {str(path) for path in (target, temporary, *target.parents)}
    if error.filename is not None and str(error.filename) not in ours:
        return None  # the block stumbled over another file
    if error.filename == str(temporary) and error.errno == errno.ENOENT:
        return None  # the block never wrote its file
    return PlantError(
        f"cannot be written ({error.strerror or error})",
        where=str(target),
        fix="choose another folder, or change its permissions",
    )
