"""``run.json``: which configuration a run folder belongs to, and whether the run has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plant_plugin.config import Config
from plant_plugin.config.options import AUTO
from plant_plugin.files import atomic_write

RUN_FILE = "run.json"
FIRST_PASS = "first_pass"  # folder in a run's own: the first training of `refit`


def write_run_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write ``run.json``.

    Args:
        folder: Of the run.
        record: ``config_hash``, ``finished``, the ``hashes`` of the data, and what the run has ``cost`` so far.
    """
    with atomic_write(folder / RUN_FILE) as temporary:
        temporary.write_text(json.dumps(dict(record)) + "\n", encoding="utf-8")


def read_run_record(folder: Path) -> dict[str, Any] | None:
    """What :func:`write_run_record` wrote; None where there is no whole one."""
    try:
        record = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and "config_hash" in record else None


def note_cost(folder: Path, cost: Mapping[str, Mapping[str, float]]) -> None:
    """Keep what a run has cost until the state that was just written, for the start that goes on from there."""
    write_run_record(folder, {**(read_run_record(folder) or {}), "cost": cost})


def note_skipped_steps(folder: Path, stage: str, steps: int) -> None:
    """Add the steps that a stage left out to ``run.json``, for ``result.json``."""
    record = read_run_record(folder) or {}
    write_run_record(folder, {**record, "skipped_steps": {**record.get("skipped_steps", {}), stage: steps}})


def note_best_epoch(folder: Path, stage: str, epoch: int) -> None:
    """Add the epoch, from 1, whose weights a stage has kept to ``run.json``."""
    record = read_run_record(folder) or {}
    write_run_record(folder, {**record, "best_epochs": {**record.get("best_epochs", {}), stage: epoch}})


def skipped_steps(folder: Path) -> dict[str, int]:
    """``skipped_steps`` where there were any, for the counts of ``result.json``."""
    steps = sum(((read_run_record(folder) or {}).get("skipped_steps") or {}).values())
    return {"skipped_steps": steps} if steps else {}


def found_again(config: Config) -> Config:
    """Where ``resume`` is ``auto``: the configuration that goes on with the newest run of it that has not ended."""
    if config.resume != AUTO:
        return config
    folder, found = config.checkpoint_dir.parent, []
    for path in folder.glob(f"*/{RUN_FILE}"):
        record = read_run_record(path.parent)
        if record is not None and record["config_hash"] == config.hash() and not record.get("finished"):
            found.append(path.parent)
    newest = max(found, key=lambda folder: (folder / RUN_FILE).stat().st_mtime_ns, default=None)
    return config.resumed(newest)
