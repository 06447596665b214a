"""Whether a run folder is new, interrupted or finished, and whether it is the same run."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import CheckpointError
from plant_plugin.files import remove
from plant_plugin.report.record import read_run_record, write_run_record

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.report.run import Run
    from plant_plugin.training.prepare import Prepared


def has_ended(config: Config, run: Run) -> bool:
    """Whether the run to resume has ended before; a new run leaves a note of its configuration.

    Raises:
        CheckpointError: The folder to resume was made by another configuration.
    """
    if not config.resume:
        write_run_record(run.folder, {"config_hash": config.hash(), "finished": False})
        return False
    record = read_run_record(run.folder)
    if record is None:
        fix = "give the folder of an interrupted run"
        raise CheckpointError("nothing to resume is here", where=str(run.folder), fix=fix)
    if record["config_hash"] != config.hash():
        raise CheckpointError(
            f"the run was started with configuration {record['config_hash'][:12]}, this one is {config.hash()[:12]}",
            where=str(run.folder),
            fix="resume with the same configuration and flags, or start a new run",
        )
    if record.get("finished"):
        _clean(run)
    run.go_on(record.get("cost", {}))
    return bool(record.get("finished"))


def same_data(config: Config, run: Run, prepared: Prepared) -> None:
    """Note the hashes of the data, or compare them with those that the interrupted run noted.

    Raises:
        CheckpointError: Files have changed since.
    """
    record = read_run_record(run.folder) or {}
    stored = record.get("hashes", prepared.hashes)
    changed = sorted(name for name in stored.keys() | prepared.hashes if stored.get(name) != prepared.hashes.get(name))
    if changed:
        raise CheckpointError(
            f"changed since the run was started: {', '.join(changed)}",
            where=str(run.folder),
            fix="resume with the same files, or start a new run",
        )
    if "hashes" not in record:
        known = {"config_hash": config.hash(), "finished": False, **record}
        write_run_record(run.folder, {**known, "hashes": prepared.hashes})


def finish(config: Config, run: Run) -> None:
    """The model is saved: there is nothing left to resume."""
    write_run_record(run.folder, {**(read_run_record(run.folder) or {}), "finished": True})
    _clean(run)


def read_result(run_folder: Any) -> dict[str, Any]:
    """``result.json`` of a finished run; empty where there was no test split."""
    path = run_folder / "result.json"
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return result


def _clean(run: Run) -> None:
    """Remove what only an interrupted run needs, and what a killed one was writing."""
    for half in run.folder.glob(".*.part*"):
        remove(half)
    for stage in ("stage1", "stage2"):
        shutil.rmtree(run.folder / stage, ignore_errors=True)
        (run.folder / f"{stage}.safetensors").unlink(missing_ok=True)
