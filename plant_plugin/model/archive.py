"""A model folder as one file, ``model.zip``: made by ``plant export``, read like a folder.

Its members are stored, not compressed: weights hardly shrink, and what unpacks to more than the file holds can be
refused. Whoever made the file may be a stranger: nothing but files of a model is unpacked, under names that stay in the
folder, and a link in it is written as a file.
"""

from __future__ import annotations

import contextlib
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from plant_plugin.errors import CheckpointError
from plant_plugin.files import atomic_folder, atomic_write, cache_folder, remove, sha256
from plant_plugin.model.manifest import CARD, MANIFEST, belongs

ARCHIVE = ".zip"
LONGEST_NAME = 100  # characters of a file of a model
FIX = "make it anew: plant export RUN_FOLDER --out model.zip"


@contextlib.contextmanager
def packed_folder(out: Path) -> Iterator[Path]:
    """Yield a new folder for the block to fill; its files become ``out``, whole or not at all."""
    with atomic_write(out) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        folder = temporary.with_suffix("")
        try:
            folder.mkdir()
            yield folder
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                member = zipfile.ZipInfo(path.relative_to(folder).as_posix())  # of 1980: the same files, the same bytes
                member.external_attr = 0o100600 << 16
                member.file_size = path.stat().st_size  # which decides whether it is written as a large one
                with archive.open(member, "w") as target, open(path, "rb") as source:
                    shutil.copyfileobj(source, target)
        finally:
            remove(folder)


def unpacked(model: Path) -> Path:
    """Return the folder of a model: itself, or that of a ``model.zip``, unpacked into the cache folder.

    The file's SHA-256 names that folder, so that a file is unpacked once, and again where a part of it is gone; loading
    compares it with its manifest.

    Raises:
        CheckpointError: The file is no such archive, is torn, or holds something else than a model.
    """
    if model.suffix != ARCHIVE or not model.is_file():
        return model
    # A name of dots would lead out of the folder, and one as long as names may be would leave no room for a part of it.
    name = model.stem.strip(".")[:LONGEST_NAME] or "model"
    folder = cache_folder() / "models" / sha256(model) / name
    try:
        with zipfile.ZipFile(model) as archive:
            # who cleans a cache may have taken some of it away
            if not all((folder / name).is_file() for name in (MANIFEST, *archive.namelist())):
                _unpack(archive, model, folder)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise CheckpointError("torn, or no archive", where=str(model), fix=FIX) from error
    return folder


def _unpack(archive: zipfile.ZipFile, model: Path, folder: Path) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    taken = {name.casefold() for name in names}
    above = {str(parent).casefold() for name in names for parent in PurePosixPath(name).parents}
    for member in members:
        longest = max(map(len, member.filename.split("/")))
        if longest > LONGEST_NAME or (member.filename not in (MANIFEST, CARD) and not belongs(member.filename)):
            raise CheckpointError(f"it holds {member.filename[:80]!r}, no file of a model", where=str(model), fix=FIX)
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise CheckpointError("it is compressed or encrypted", where=str(model), fix=FIX)
    if len(taken) < len(names) or taken & above or sum(member.file_size for member in members) > model.stat().st_size:
        raise CheckpointError("its files lie over each other", where=str(model), fix=FIX)
    if MANIFEST not in names:
        raise CheckpointError(f"it holds no {MANIFEST}", where=str(model), fix=FIX)
    with atomic_folder(folder) as partial:
        for member in members:
            path = partial / member.filename
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, open(path, "xb") as target:
                shutil.copyfileobj(source, target)
