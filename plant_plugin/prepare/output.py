"""A folder of results that appears when it is complete, and ``provenance.json``, which says how it came to be."""

from __future__ import annotations

import json
import os
import platform
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, TypedDict

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.errors import PlantError
from plant_plugin.files import sha256

PROVENANCE = "provenance.json"
PROVENANCE_VERSION = 1

Counts = Mapping[str, int | str]  # by what is counted; nothing in it is a text or an id


class Made(TypedDict):
    """The report of a preparation: ``counts`` of the whole, and those of each folder that it wrote."""

    counts: Counts
    sets: Mapping[str, Counts]


def describe(paths: Iterable[Path]) -> list[dict[str, object]]:
    """Name, size and SHA-256 of each file."""
    return [{"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)} for path in paths]


def write_provenance(folder: Path, content: Mapping[str, object]) -> None:
    """Write how the other files of a folder were made and their hashes; no time of day, so that two runs agree."""
    files = describe(sorted(path for path in folder.iterdir() if path.name != PROVENANCE))
    versions = {"plant_plugin": version("plant-plugin"), "python": platform.python_version()}
    whole = {"format": PROVENANCE_VERSION, "versions": versions, **content, "files": files}
    (folder / PROVENANCE).write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def unnamed(labels: Iterable[str], names: Mapping[str, str]) -> dict[str, int]:
    """Count the labels that have no name; no count where there are no names at all."""
    return {"labels_without_a_name": sum(not names.get(label) for label in labels)} if names else {}


def write_names(folder: Path, labels: Iterable[str], names: Mapping[str, str]) -> None:
    """Write what labels stand for, those that have a name, beside the training file; nothing where none has."""
    lines = [f"{label}\t{' '.join(names[label].split())}\n" for label in sorted(labels) if names.get(label)]
    if lines:
        (folder / LABEL_NAMES).write_text("".join(lines), encoding="utf-8")


def opened(stage: Path | None, name: str) -> IO[str]:
    """A new text file of a stage; without one, for a dry run, what is written to it goes nowhere."""
    return open(os.devnull if stage is None else stage / name, "w", encoding="utf-8", newline="\n")


@contextmanager
def staged(out: Path, sources: Iterable[Path] = ()) -> Iterator[Path]:
    """Yield an empty folder inside ``out``; its folders and files take their place in ``out`` when the block ends well.

    Older files of the same names are replaced. A file that an old ``provenance.json`` names, and that is not written
    again, goes if nobody changed it and it is none of the ``sources``: evidence of other texts, say, would be read as
    that of these. Others stay. In each folder the old ``provenance.json`` goes first and the new one comes last: its
    presence says that everything beside it is whole.

    Raises:
        PlantError: The folder cannot be written, the disk is full, or a source would be replaced.
    """
    new_folders = [folder for folder in (out, *out.parents) if not folder.exists()]
    stage = out / f".{uuid.uuid4().hex[:12]}.part"
    try:
        stage.mkdir(parents=True)
        yield stage
        read = {path.resolve() for path in sources}
        for path in sorted(stage.rglob("*")):
            if (place := out / path.relative_to(stage)).resolve() in read:
                fix = "choose another folder to write"
                raise PlantError("this is read, and would be replaced by what is made of it", where=str(place), fix=fix)
        for folder in sorted({path.parent for path in stage.rglob("*") if path.is_file()}):
            _move(folder, out / folder.relative_to(stage), read)
    except OSError as error:
        if error.filename is not None and not str(error.filename).startswith(str(out)):
            raise
        fix = "free some space, change its permissions, or choose another folder"
        what = f"cannot be written ({error.strerror or error})"
        raise PlantError(what, where=str(out), fix=fix) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        for folder in new_folders:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def _move(source: Path, target: Path, read: Collection[Path]) -> None:
    target.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in source.iterdir()}
    old = [path for path in _as_written(target, besides=names) if path.resolve() not in read]
    (target / PROVENANCE).unlink(missing_ok=True)
    for path in old:
        path.unlink()
    for path in sorted(source.iterdir(), key=lambda path: path.name == PROVENANCE):
        if path.is_file():
            os.replace(path, target / path.name)


def _as_written(folder: Path, besides: Collection[str]) -> list[Path]:
    """Return the files, besides some, that a folder's ``provenance.json`` names and that nobody changed since."""
    try:
        files = json.loads((folder / PROVENANCE).read_text(encoding="utf-8"))["files"]
        hashes = {str(file["name"]): file["sha256"] for file in files if file["name"] not in besides}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []
    written = (path for path in sorted(folder.iterdir()) if path.name in hashes and path.is_file())
    return [path for path in written if sha256(path) == hashes[path.name]]
