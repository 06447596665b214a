"""``run.json``: which configuration a run folder belongs to, and whether the run has ended."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal, TypeVar, cast

from typing_extensions import Required, TypedDict

from plant_plugin.errors import CheckpointError
from plant_plugin.files import read_json, write_json

RUN_FILE = "run.json"
FURTHER = "further.json"
FIRST_PASS = "first_pass"  # folder in a run's own: the first training of `refit`
Content = TypeVar("Content")
Gains = dict[str, object]  # on validation documents, with the ends of its interval and seconds of training


class RunRecord(TypedDict, total=False):
    """The content of the file."""

    config_hash: Required[str]
    finished: bool
    hashes: dict[str, str]  # of the data
    cost: dict[str, dict[str, float]]  # what `Run.totals` said when the last state was written
    skipped_steps: dict[str, int]  # by stage
    best_epochs: dict[str, int]  # by stage, from 1: whose weights it has kept
    weights: dict[str, str]  # by stage: SHA-256 of its file, where that was written
    compared: dict[str, Gains]  # by part of the model that `auto` decided over


class Further(TypedDict):
    """The content of ``further.json``: what the training of a run adds to that of a run before."""

    folder: str  # of the run before
    new: int  # documents at the head of the training file that are new to it
    waiting: int  # so many after these that its network has not read either
    reads: bool  # whether the network reads both now; otherwise it stays as it is


def read_further(folder: Path) -> Further | None:
    """Read ``further.json`` of a run; None where it begins anew."""
    return _read(folder / FURTHER, Further)


def _read(path: Path, kind: type[Content]) -> Content | None:
    return read_json(path, kind, what="what a run begins with", fix="start a new run") if path.exists() else None


def write_run_record(folder: Path, record: RunRecord) -> None:
    """Write ``run.json``."""
    write_json(folder / RUN_FILE, record)


def read_run_record(folder: Path) -> RunRecord | None:
    """Read what :func:`write_run_record` wrote; None where there is nothing, or it is torn."""
    with contextlib.suppress(OSError, CheckpointError):
        return read_json(folder / RUN_FILE, RunRecord, what="the record of a run", fix="start a new run")
    return None


def note_cost(folder: Path, cost: dict[str, dict[str, float]]) -> None:
    """Keep what a run has cost until the state that was just written, for the start that resumes there."""
    if record := read_run_record(folder):
        write_run_record(folder, {**record, "cost": cost})


def note_of_stage(
    folder: Path, key: Literal["skipped_steps", "best_epochs", "weights", "compared"], stage: str, value: object
) -> None:
    """Add to ``run.json`` what a stage says under one of these keys of :class:`RunRecord`."""
    if record := read_run_record(folder):
        write_run_record(folder, cast(RunRecord, {**record, key: {**record.get(key, {}), stage: value}}))


def compared_in(folder: Path) -> dict[str, Gains]:
    """Return the comparisons of a run, or of the first training of ``refit``."""
    record = read_run_record(folder / FIRST_PASS) or read_run_record(folder)
    return record.get("compared", {}) if record else {}


def skipped_steps(folder: Path) -> dict[str, int]:
    """Return ``skipped_steps`` where there were any, for the counts of ``result.json``."""
    record = read_run_record(folder)
    steps = sum(record.get("skipped_steps", {}).values()) if record else 0
    return {"skipped_steps": steps} if steps else {}
