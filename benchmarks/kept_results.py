"""The results of experiments, two files for each experiment on a data set; only this module reads and writes them.

``NAME.jsonl.xz`` has a line for each run: a ``result.json`` with its ``variant`` and the place of its ``arrays``.
``NAME.npz`` holds the arrays of all runs (:class:`PerDocument`), one after the other; runs that share one, such as the
true labels, share its place, so that it is stored once.

    python benchmarks/kept_results.py NAME    # print the lines, e.g. of eurlex6k-ablations
"""

from __future__ import annotations

import functools
import json
import lzma
import math
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import yaml

from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.files import atomic_write, locked
from plant_plugin.report.systems import System, system_of

RESULTS = Path(__file__).resolve().parent / "results"
DEFINITIONS = RESULTS.parent / "experiments" / "experiments.yml"
LINES, ARRAYS = ".jsonl.xz", ".npz"
FIX = "take the file from the repository again"
Arrays = Mapping[str, npt.NDArray[Any]]


class Run(NamedTuple):
    """One run of an experiment: its result, and what each document contributes where that was kept."""

    result: dict[str, Any]
    arrays: Arrays

    @property
    def documents(self) -> PerDocument | None:
        """The arrays, read."""
        return PerDocument.of_arrays(ArrayFile(Path(), self.arrays, fix=FIX, error=DataError)) if self.arrays else None


Runs = dict[tuple[str, int], Run]  # variant and seed -> run


def names_in(results: Path) -> list[str]:
    """The experiments on data sets that have results: DATASET (main comparison) or DATASET-EXPERIMENT."""
    return sorted(path.name.removesuffix(LINES) for path in results.glob(f"*{LINES}"))


def files_of(folder: Path) -> list[Path]:
    """The files of an experiment that are there; ``folder`` is its name in the folder of all results."""
    return [path for ending in (LINES, ARRAYS) if (path := _file(folder, ending)).is_file()]


def read_runs(folder: Path) -> Runs:
    """Read the runs of an experiment; none where it has no results.

    Raises:
        DataError: A file is torn, or the arrays are not those of the lines.
    """
    if not _file(folder, LINES).is_file():
        return {}
    lines = lzma.decompress(_file(folder, LINES).read_bytes()).decode().splitlines()
    stored = ArrayFile.read(_file(folder, ARRAYS), "the arrays of results", fix=FIX, error=DataError)
    runs = {}
    for result in map(json.loads, lines):
        arrays = {name: _taken(stored, *place) for name, place in result.pop("arrays").items()}
        runs[result.pop("variant"), result["seed"]] = Run(result, arrays)
    return runs


def read_results(folder: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Read the results of an experiment without their arrays, by variant and seed."""
    return {key: run.result for key, run in read_runs(folder).items()}


def write_runs(folder: Path, runs: Runs) -> None:
    """Write the runs of an experiment; none remove its files."""
    if not runs:
        for path in files_of(folder):
            path.unlink()
        return
    places: dict[tuple[str, bytes], int] = {}
    stored: dict[str, list[npt.NDArray[Any]]] = defaultdict(list)
    ends: dict[str, int] = defaultdict(int)
    lines = []
    for (variant, _), run in sorted(runs.items()):
        stored_at: dict[str, tuple[str, int, tuple[int, ...]]] = {}
        for name, array in run.arrays.items():
            member = f"{name}.{array.dtype.name}"
            content = member, array.tobytes()
            if content not in places:
                places[content] = ends[member]
                stored[member].append(array.ravel())
                ends[member] += array.size
            stored_at[name] = member, places[content], array.shape
        lines.append(json.dumps({"variant": variant, **run.result, "arrays": stored_at}, separators=(",", ":")) + "\n")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(_file(folder, ARRAYS)) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_LZMA) as archive:
        for member, parts in sorted(stored.items()):
            info = zipfile.ZipInfo(f"{member}.npy")  # of 1980: the same runs are the same bytes
            info.compress_type = zipfile.ZIP_LZMA
            with archive.open(info, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.concatenate(parts), allow_pickle=False)
    with atomic_write(_file(folder, LINES)) as temporary:
        temporary.write_bytes(lzma.compress("".join(lines).encode()))


def change_runs(folder: Path, change: Callable[[Runs], None]) -> None:
    """Read the runs of an experiment, change them and write them; nobody else can meanwhile."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name(f"{folder.name}.lock")):
        runs = read_runs(folder)
        change(runs)
        write_runs(folder, runs)


def keep_run(folder: Path, variant: str, result: Mapping[str, Any], documents: PerDocument | None) -> None:
    """Add a run to an experiment, in the place of one of the same variant and seed."""
    arrays = {} if documents is None else documents.arrays()
    change_runs(folder, lambda runs: runs.update({(variant, result["seed"]): Run(dict(result), arrays)}))


def load_systems(folder: Path, variants: Iterable[str] | None = None) -> list[System]:
    """The variants of an experiment that have results, in the order given or, without one, by name."""
    runs = read_runs(folder)
    there = {variant for variant, _ in runs}
    systems = []
    for name in sorted(there) if variants is None else [name for name in variants if name in there]:
        chosen = [run for (variant, _), run in sorted(runs.items()) if variant == name]
        system = system_of(name, [(str(folder), run.result, run.documents) for run in chosen])
        system.without_chance = name in without_chance().get(folder.name.partition("-")[2] or "main", ())
        systems.append(system)
    return systems


@functools.cache
def without_chance() -> dict[str, list[str]]:
    """Experiment -> its variants that draw nothing, so that one seed does."""
    return {
        name: definition.get("one_seed", []) for name, definition in yaml.safe_load(DEFINITIONS.read_text()).items()
    }


def _file(folder: Path, ending: str) -> Path:
    return folder.with_name(folder.name + ending)


def _taken(stored: ArrayFile, member: str, start: int, shape: list[int]) -> npt.NDArray[Any]:
    """The array of a run, checked to lie within what is stored."""
    whole, size = stored.arrays.get(member), math.prod(shape)
    if whole is None or not 0 <= start <= start + size <= len(whole):
        stored.wrong(member, "is not what the lines beside it say")
    return whole[start : start + size].reshape(shape)


if __name__ == "__main__":
    for path in (RESULTS / name for name in sys.argv[1:]):
        sys.stdout.write(lzma.decompress(_file(path, LINES).read_bytes()).decode())
