"""What ends a run before its time (Ctrl-C, SIGTERM, a full disk), and how the same run goes on."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, FullDiskError, Interrupted, PlantError, Stopped
from plant_plugin.files import is_full, remove
from plant_plugin.report.record import read_run_record, write_run_record
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
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
    if not is_first():
        return
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


def finish(run: Run) -> None:
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


@contextlib.contextmanager
def sigterm_stops(config: Config, run: Run) -> Iterator[None]:
    """Inside the block SIGTERM ends the run at the next optimiser step, or at once where nothing is being trained.

    Raises:
        Stopped: After SIGTERM; the exit code is 0.
    """
    before = listen(config, run)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def listen(config: Config, run: Run) -> Any:
    """Take SIGTERM, also from Lightning, whose own handler would end a stage without a state.

    Returns:
        Who had it before; None where nothing was done: Python takes handlers in the main thread only.
    """

    def ask(number: int, frame: Any) -> None:
        run.stop_asked = True
        if not run.stops_itself:
            raise stopped(config, run)

    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTERM, ask)


def stopped(config: Config, run: Run) -> Stopped:
    """The message after SIGTERM."""
    return Stopped(
        "stopped, the state is saved", where=str(run.resumed_from), fix=f"go on with: {resume_command(config, run)}"
    )


def interrupted(config: Config, run: Run) -> Interrupted:
    """The message after Ctrl-C."""
    fix = f"go on behind the last step that was saved: {resume_command(config, run)}"
    return Interrupted("interrupted", where=str(run.resumed_from), fix=fix)


@contextlib.contextmanager
def full_disk_resumes(config: Config, run: Run) -> Iterator[None]:
    """Inside the block a full disk ends the run with the command that goes on behind its last state.

    Raises:
        FullDiskError: What could not be written, and that command.
    """
    try:
        yield
    except Exception as error:
        if config.eval or run.keeps_nothing or not is_full(error):
            raise
        what, where = "the disk is full", str(run.folder)
        if isinstance(error, PlantError):
            what, where = error.what, error.where or where
        fix = f"free some space, then go on with: {resume_command(config, run)}"
        raise FullDiskError(what, where=where, fix=fix) from error


def resume_command(config: Config, run: Run) -> str:
    """The command of this run, with its folder to resume; flags as they were typed."""
    name, *words = sys.argv
    if Path(name).stem == "libmultilabel":
        typed = [word for word in words if not word.startswith("--resume=")]
        while "--resume" in typed:
            place = typed.index("--resume")
            del typed[place : place + 2]
    else:
        typed = ["--config", str(config.config_path or config.config_name)]
    return shlex.join(["libmultilabel", *typed, "--resume", str(run.resumed_from)])
