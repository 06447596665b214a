"""Files and folders that are either whole or not there, and where those lie that can be made again."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

from plant_plugin.errors import CheckpointError, DataError, FullDiskError, PlantError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Libraries that write through C or Rust report a full disk in their own words, without an error number.
FULL_DISK_PHRASES = (
    "No space left on device",  # safetensors, tokenizers, HDF5
    "File too large",
    "PytorchStreamWriter failed writing",  # torch.save to a name
)
NUMPY_PHRASE = "requested and"  # an OSError without a number: "1000 requested and 12 written"
UNFLUSHED = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF)  # what cannot be flushed says so by one of these
# Files that would fill the memory are refused before they do. A number in this environment variable moves all limits.
LIMITS = "PLANT_LIMITS"
LONGEST_LINE = 1 << 26  # characters, decompressed: more is a file without line ends

CHUNK = 1 << 20  # bytes
UMASK_VARIABLE = "PLANT_UMASK"

Kept = TypeVar("Kept")

logger = logging.getLogger(__name__)


def sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal; read it piece by piece."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def umask() -> int:
    """Return the permissions that new files and folders do not have: those of others, or those in ``PLANT_UMASK``.

    Raises:
        PlantError: That is no octal number of permissions.
    """
    permissions = os.environ.get(UMASK_VARIABLE) or "077"
    if not re.fullmatch("0{0,2}[0-7]{1,2}", permissions):
        raise PlantError(
            "no permissions to take away",
            where=f"${UMASK_VARIABLE}",
            fix="an octal number up to 077, e.g. 007 for a folder that a group shares",
        )
    return int(permissions, 8)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Apply :func:`umask` inside the block to all that this process makes, also through libraries."""
    before = os.umask(umask())
    try:
        yield
    finally:
        os.umask(before)


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; rename it onto ``path`` when the block ends well.

    A reader sees the old file or the new one, never half of it, after a power cut too: what a file holds is on the disk
    before its name is. The temporary one keeps the ending of ``path``, because numpy and others append theirs to a name
    without. Missing folders are made; a block that has not written the file gets a ``FileNotFoundError``. Permissions
    are those that :func:`umask` leaves. A link is replaced, not what it leads to; what is neither file nor folder, such
    as a pipe or ``/dev/stdout``, is handed out itself.

    Raises:
        FullDiskError: The disk is full; nothing is left of it and an older ``path`` is untouched.
        PlantError: The folder cannot be written, or the system refuses otherwise; the same holds.
    """
    target = Path(path)
    special = os.path.exists(target) and not target.is_file() and not target.is_dir()
    special |= str(target.absolute().parent) == "/dev"
    temporary = _beside(target)
    try:
        if special:
            yield target
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.chmod((0o777 if temporary.is_dir() else 0o666) & ~umask())
        flush(temporary)
        os.replace(temporary, target)
        _flush(target.parent)
    except BaseException as error:  # also on Ctrl-C: half a file helps nobody
        remove(temporary)
        if isinstance(error, Exception) and (explained := _explained(error, target, temporary)):
            raise explained from error
        raise


def flush(path: Path) -> None:
    """Wait until a file, or a folder and all in it, is on the disk itself, where a power cut does not reach it."""
    if path.is_dir() and not path.is_symlink():
        for inner in path.iterdir():
            flush(inner)
    _flush(path)


def _flush(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders
    number = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in UNFLUSHED:
            raise
    finally:
        os.close(number)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file of UTF-8 whole or not at all, as :func:`atomic_write` does."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], content: object, **options: Any) -> None:
    """Write readable JSON whole or not at all; ``options`` are those of ``json.dumps``."""
    write_text(path, json.dumps(content, indent=1, **options) + "\n")


@contextlib.contextmanager
def atomic_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder beside ``path``, which it replaces when the block ends well; else as :func:`atomic_write`."""
    with atomic_write(path) as temporary:
        temporary.mkdir()
        yield temporary
        remove(Path(path))


@contextlib.contextmanager
def locked(path: Path, fix: str | None = None) -> Iterator[None]:
    """Hold the lock of a file, which is there as long as the block runs and says who holds it.

    Where another process holds it the block waits, or, with a ``fix``, is refused. The system releases a lock when its
    process ends, however it ends. A file that was removed or replaced meanwhile holds nobody off; the log says so.

    Raises:
        PlantError: Another process holds it, which is named; or the file cannot be made or locked.
    """
    from filelock import FileLock, Timeout  # only those who train wait for its import

    lock = FileLock(path, timeout=0 if fix else -1, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        holder = ""
        with contextlib.suppress(OSError):
            holder = path.read_bytes().decode(errors="replace").strip()
        raise PlantError(f"in use by {holder or 'another process'}", where=str(path.parent), fix=fix) from None
    except OSError as error:
        raise _explained(error, path, path.parent) or error from error
    ours = f"process {os.getpid()} on {platform.node()}\n".encode()
    try:
        with contextlib.suppress(OSError):  # Windows lets nobody else into a locked file
            path.write_bytes(ours)
        yield
    finally:
        try:
            with contextlib.suppress(PermissionError):
                if path.read_bytes() != ours:
                    raise FileNotFoundError
                path.unlink()  # while it is held: whoever opened it before sees that it is another file now
            lock.release()
        except OSError:
            logger.error("%s: the lock was lost, another process may have written there too", path.parent)


def limit(most: int) -> int:
    """Return a limit of this module, times the number in :data:`LIMITS`, if there is one."""
    factor = os.environ.get(LIMITS, "1")
    try:
        return int(most * float(factor))
    except (ValueError, OverflowError):
        raise PlantError(f"{factor!r} is no number", where=LIMITS, fix=f"e.g. {LIMITS}=10, or leave it out") from None


def above_limit(what: str, where: str, fix: str) -> DataError:
    """Return the error about a file that goes beyond a limit."""
    return DataError(what, where=where, fix=f"{fix}; if it has to be so, {LIMITS}=10 allows ten times as much")


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """Return the folder for files that can be made again, which need not exist yet; None: in the user's cache folder.

    Raises:
        PlantError: It is below the home of a user that the system does not know.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "plant_plugin") if cache_dir is None else cache_dir
    try:
        return Path(folder).expanduser()
    except RuntimeError as error:
        raise PlantError("no such home folder", where=str(folder), fix="set cache_dir or XDG_CACHE_HOME") from error


def cached(
    path: Path,
    read: Callable[[Path], Kept],
    make: Callable[[], Kept],
    write: Callable[[Path, Kept], None] | None,
    what: str,
) -> Kept:
    """Read what an earlier run kept, else make it and keep it; a folder that cannot be written only costs a warning.

    Args:
        path: Of a file or folder, named by the hash of everything that its content depends on.
        read: A ``PlantError`` or what parsing raises (``ValueError``, ``KeyError``, …) says that it is damaged.
        make: Makes it, also where it is damaged.
        write: Writes it whole or not at all; None where ``make`` has kept it already.
        what: For the warnings, with its verb: "The token cache is".
    """
    if os.path.exists(path):
        try:
            return read(path)
        except (PlantError, OSError, ValueError, KeyError, EOFError):
            logger.warning("%s damaged and made again: %s", what, path.name)
    content = make()
    try:
        if write is not None:
            write(path, content)
    except PlantError as error:
        if not os.path.exists(path):  # else a process that made the same meanwhile has kept it
            logger.warning("%s not kept: %s", what, error)
    return content


def read_json(path: Path, kind: type[Kept], *, what: str, fix: str, error: type[PlantError] = CheckpointError) -> Kept:
    """Read a JSON file whose content has to be of a type; numbers and words are not taken for each other.

    Args:
        path: The file.
        kind: ``dict[str, float]`` and the like, or a ``TypedDict``; keys that it does not know are let through.
        what: What the file should be, for the error: "a result".
        fix: What to do where it is none.
        error: Raised where it is none.

    Raises:
        FileNotFoundError: There is no such file.
        PlantError: ``error``: it cannot be read, or a key, which is named, is missing or of another type.
    """
    from pydantic import TypeAdapter, ValidationError  # a tenth of a second

    try:
        if path.is_fifo() or path.is_char_device():  # which would never end
            raise OSError(0, "no plain file")
        content: Kept = TypeAdapter(kind).validate_json(path.read_bytes(), strict=True, extra="allow")
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise error(f"cannot be read ({problem.strerror})", where=str(path), fix=fix) from problem
    except ValidationError as problems:
        # Of a union every kind complains: believe the one that fits the longest way down.
        fault = max(problems.errors(include_url=False, include_input=False), key=lambda fault: len(fault["loc"]))
        key = ".".join(str(part) for part in fault["loc"] if "[" not in str(part))  # brackets: a kind of a union
        words = {"json_invalid": "torn, or no JSON", "missing": f"it holds no {key}"}
        message = words.get(fault["type"]) or fault["msg"].replace("Input", key or "the content", 1)
        raise error(f"not {what}: {message}", where=str(path), fix=fix) from None  # its message would show the content
    return content


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there and can be removed."""
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def append(path: str | os.PathLike[str], text: str) -> None:
    """Add lines to a file; whoever is killed meanwhile leaves half of one at most, for the reader to pass over."""
    try:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise _explained(error, Path(path), Path(path).parent) or error from error


def reserve(stream: IO[bytes], size: int) -> None:
    """Claim the blocks of a file that will be written through a mapping, or raise an ``OSError``.

    A disk that fills up later would end such a write with a signal, and with it the process.
    """
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), 0, size)


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or what it was raised from, says that nothing more fits on the disk."""
    if error is None:
        return False
    if isinstance(error, FullDiskError) or getattr(error, "errno", None) in FULL:
        return True
    phrases = (*FULL_DISK_PHRASES, NUMPY_PHRASE) if isinstance(error, OSError) else FULL_DISK_PHRASES
    return any(phrase in str(error) for phrase in phrases) or is_full(error.__cause__ or error.__context__)


def _beside(target: Path) -> Path:
    return target.with_name(f".{uuid.uuid4().hex[:12]}.part{''.join(target.suffixes[-2:])}")


def _explained(error: Exception, target: Path, temporary: Path) -> PlantError | None:
    """Return the sentence for an error met while writing ``target``; None if the error is about something else."""
    if isinstance(error, PlantError):
        return None  # it is explained
    if is_full(error):
        too_large = getattr(error, "errno", None) == errno.EFBIG
        what = "no file of this size is allowed there (`ulimit -f`)" if too_large else "the disk is full"
        return FullDiskError(
            f"{what}, nothing was written", where=str(target), fix="free some space or choose another folder"
        )
    if not isinstance(error, OSError):
        return None
    ours = {str(path) for path in (target, temporary, *target.parents)}
    elsewhere = error.filename is not None and str(error.filename) not in ours  # the block stumbled over another file
    unwritten = isinstance(error, FileNotFoundError) and error.filename == str(temporary)
    if elsewhere or (unwritten and os.access(target.parent, os.W_OK)):
        return None
    fix = "choose another folder, or change its permissions"
    return PlantError(f"cannot be written ({error.strerror or error})", where=str(target), fix=fix)
