"""``manifest.json``: which files a model folder is, with size and SHA-256; written last, compared when it is read.

Labels in another order or a flipped bit in the weights give other answers, and no error. What is not part of the model
(results, logs, predictions) is in no manifest and may change.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

from annotated_types import Ge
from typing_extensions import TypedDict

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.subword_tokens import TOKENIZER_FOLDER
from plant_plugin.data.word_tokens import VOCABULARY_FILE
from plant_plugin.errors import CheckpointError
from plant_plugin.files import read_json, sha256, write_json
from plant_plugin.relevance.names.open_labels import OPEN_LABELS
from plant_plugin.relevance.planted_scores import ARRAYS, MARKED, TERMS
from plant_plugin.report.label_statistics import LABEL_STATISTICS

MANIFEST, CARD = "manifest.json", "README.md"
MODEL, CONFIG, LABELS, THRESHOLDS, BACKBONE = (
    "model.safetensors", "config.json", "labels.txt", "thresholds.json", "backbone"
)  # fmt: skip
RELEVANCE, EVIDENCE_THRESHOLD = "relevance.npz", "evidence_threshold.json"
PACKED_NAMES = f"{LABEL_NAMES}.gz"  # plain in folders of before
NEEDED = (MODEL, CONFIG, LABELS, THRESHOLDS, VOCABULARY_FILE)
FILES = (
    *NEEDED, *OPEN_LABELS, RELEVANCE, ARRAYS, TERMS, MARKED,
    LABEL_NAMES, PACKED_NAMES, LABEL_STATISTICS, EVIDENCE_THRESHOLD,
)  # fmt: skip
REMOVABLE = (LABEL_STATISTICS, EVIDENCE_THRESHOLD)  # without which there is less to show, and defaults hold
FOLDERS = (BACKBONE, TOKENIZER_FOLDER)  # where nothing but the model's files may lie
AGAIN = "copy the run folder again from where it was made, or train again"


class File(TypedDict):
    """A line of the manifest."""

    size: Annotated[int, Ge(0)]  # bytes
    sha256: str


class Manifest(TypedDict):
    """The file."""

    files: dict[str, File]  # by path below the folder, with slashes


def belongs(name: str) -> bool:
    """Tell whether a path with slashes is that of a file that a model can have, inside the model's folder."""
    top, *inner = name.split("/")
    return name in FILES or (
        top in FOLDERS and bool(inner) and all(part.strip(". ") for part in inner) and not set(name) & set("\\:\0")
    )


def model_files(folder: Path) -> Iterator[str]:
    """Yield the files that are there of those that a model can have."""
    for name in FILES:
        if (folder / name).is_file():
            yield name
    for part in FOLDERS:
        yield from (path.relative_to(folder).as_posix() for path in (folder / part).rglob("*") if path.is_file())


def copy_files(folder: Path, target: Path, names: Iterable[str]) -> None:
    """Copy files of a model folder into another folder."""
    for name in names:
        (target / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copyfile(folder / name, target / name)


def write_manifest(folder: Path) -> None:
    """Note the files of a model as they are now, after the last of them was written."""
    _write(folder, {name: _line(folder / name) for name in sorted(model_files(folder))})


def renew(folder: Path, name: str) -> None:
    """Note one file again, which was written on purpose, where there is a manifest."""
    if (folder / MANIFEST).is_file():
        _write(folder, {**_read(folder), name: _line(folder / name)})


def verify(folder: Path, *, contents: bool = True) -> None:
    """Compare the files of a model folder with its manifest; without ``contents`` only their sizes.

    Raises:
        CheckpointError: A file is missing, changed, or none of the model's, or there is no manifest.
    """
    noted = _read(folder)
    for name, line in noted.items():
        path = folder / name
        if name in REMOVABLE and not path.exists():
            continue
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            raise CheckpointError("missing, and part of the model", where=str(path), fix=AGAIN) from error
        same = stat.S_ISREG(status.st_mode) and status.st_size == line["size"]
        if not same or (contents and sha256(path) != line["sha256"]):
            raise CheckpointError("changed since the model was saved", where=str(path), fix=AGAIN)
    for name in model_files(folder):
        if name not in noted and name not in REMOVABLE:
            what = f"not part of the model: {MANIFEST} does not name it"
            raise CheckpointError(what, where=str(folder / name), fix=AGAIN)


def _line(path: Path) -> File:
    return {"size": path.stat().st_size, "sha256": sha256(path)}


def _write(folder: Path, files: dict[str, File]) -> None:
    write_json(folder / MANIFEST, {"files": files})


def _read(folder: Path) -> dict[str, File]:
    """Read the lines of the manifest, none of which leads out of the folder."""
    path = folder / MANIFEST
    try:
        files = read_json(path, Manifest, what="the manifest of a model", fix=AGAIN)["files"]
    except FileNotFoundError as error:
        what = "missing: nothing shows whether the model is whole"
        raise CheckpointError(what, where=str(path), fix=AGAIN) from error
    for name in files:
        if not belongs(name):
            raise CheckpointError(f"it names {name[:80]!r}, no file of a model", where=str(path), fix=AGAIN)
    return files
