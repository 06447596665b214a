"""End a run before its time (Ctrl-C, SIGTERM, a full disk) so that it can be resumed, and resume it."""

from __future__ import annotations

import contextlib
import logging
import pickle
import shlex
import shutil
import signal
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from typing_extensions import TypedDict

from plant_plugin.config import Config
from plant_plugin.config.options import AUTO
from plant_plugin.config.sections import Settings
from plant_plugin.errors import CheckpointError, FullDiskError, Interrupted, PlantError, Stopped
from plant_plugin.files import is_full, remove, sha256
from plant_plugin.model.folder import load_tensors, write_tensors
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.report.logs import LOGS, Logs, read_logs, write_logs
from plant_plugin.report.record import RUN_FILE, RunRecord, note_of_stage, read_run_record, write_run_record
from plant_plugin.report.run import Run
from plant_plugin.report.run_folder import SETTLED
from plant_plugin.training.devices import from_first, is_first, same_weights
from plant_plugin.training.inputs import Inputs

logger = logging.getLogger(__name__)

Stage = Callable[[PlantableNetwork, Inputs, Settings, Run], None]  # trains a network in place

STATE_KEY = "plant_plugin"  # our part of Lightning's checkpoint
PATTERN = "state-*.ckpt"
UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, zipfile.BadZipFile, pickle.UnpicklingError,
    EOFError,
)  # fmt: skip


def resume_newest(config: Config) -> Config:
    """Return the configuration that, where ``resume`` is ``auto``, resumes its newest run that has not ended."""
    if config.resume != AUTO:
        return config
    unfinished = []
    for path in config.checkpoint_dir.parent.glob(f"*/{RUN_FILE}"):
        with contextlib.suppress(CheckpointError):  # another run, whose record is torn
            record = record_of(path.parent)
            if record and record["config_hash"] == config.hash() and not record.get("finished"):
                unfinished.append(path)
    newest = max(unfinished, key=lambda path: path.stat().st_mtime_ns, default=None)
    return config.resumed(newest and newest.parent)


def has_ended(run: Run, *, resumed: bool) -> bool:
    """Tell whether the run to resume, of the same configuration, has ended before; note a new run."""
    if not resumed:
        write_run_record(run.folder, {"config_hash": run.config_hash, "finished": False})
        return False
    record = record_of(run.folder)
    if record is None:
        what, fix = "nothing to resume is here", "give the folder of an interrupted run, or start a new one"
        if (run.folder / RUN_FILE).is_file():
            what = f"{RUN_FILE} is torn, and no state of the training is here: it is lost what the run was to do"
            fix = "start a new run; a model that was saved here can be used as it is"
        raise CheckpointError(what, where=str(run.folder), fix=fix)
    if record["config_hash"] != run.config_hash:
        started, this = record["config_hash"][:12], run.config_hash[:12]
        what = f"the run was started with configuration {started}, this one is {this}"
        fix = "resume with the same configuration and flags, or start a new run"
        raise CheckpointError(what, where=str(run.folder), fix=fix)
    if record.get("finished"):
        _clean(run)
    else:
        write_run_record(run.folder, record)
        mend_logs(run.folder)
    run.go_on(record.get("cost", {}))
    return bool(record.get("finished"))


def same_data(run: Run, hashes: Mapping[str, str]) -> None:
    """Note the hashes of the data, or refuse others than those that the interrupted run noted."""
    if not is_first():
        return
    record = read_run_record(run.folder)
    stored = record.get("hashes", hashes) if record else hashes
    changed = sorted(name for name in stored.keys() | hashes if stored.get(name) != hashes.get(name))
    if changed:
        what = f"changed since the run was started: {', '.join(changed)}"
        fix = "resume with the same files, or start a new run"
        raise CheckpointError(what, where=str(run.folder), fix=fix)
    if record and "hashes" not in record:
        write_run_record(run.folder, {**record, "hashes": dict(hashes)})


def do_stage(stage: str, train: Stage, network: PlantableNetwork, inputs: Inputs, settings: Settings, run: Run) -> None:
    """Train a stage and keep the whole network in ``<stage>.safetensors``, or load it where a resumed run has it."""
    path = _weights_after(stage, run.folder)
    with run.phase(stage):
        if settings.resume and from_first(lambda: _loaded(stage, network, path)):
            same_weights(network)
            return
        train(network, inputs, settings, run)
        if is_first():
            write_tensors(path, trained_state(network))
            note_of_stage(run.folder, "weights", stage, sha256(path))


def _weights_after(stage: str, folder: Path) -> Path:
    """Return the file of the weights after a stage; it is there once the stage has ended."""
    return folder / f"{stage}.safetensors"


def _loaded(stage: str, network: PlantableNetwork, path: Path) -> bool:
    """Load a stage that was finished; of a file that is torn, the stage is resumed from its last state."""
    if not path.is_file():
        return False
    record = read_run_record(path.parent)
    noted = record.get("weights", {}).get(stage) if record else None  # none where the run was killed before
    if noted in (None, sha256(path)):
        with contextlib.suppress(CheckpointError):
            load_tensors(network, path)
            return True
    logger.warning("%s is torn; it is made again from the last state of %s.", path, stage)
    return False


def finish(run: Run) -> None:
    """Note that the model is saved and nothing is left to resume."""
    if record := read_run_record(run.folder):
        write_run_record(run.folder, {**record, "finished": True})
    _clean(run)


def _clean(run: Run) -> None:
    """Remove what only an interrupted run needs, and what a killed one was writing."""
    for half in run.folder.glob(".*.part*"):
        remove(half)
    for stage in ("stage1", "stage2"):
        shutil.rmtree(run.folder / stage, ignore_errors=True)
        _weights_after(stage, run.folder).unlink(missing_ok=True)


@contextlib.contextmanager
def sigterm_stops(run: Run) -> Iterator[None]:
    """Inside the block SIGTERM ends the run at the next optimiser step, or at once where nothing is being trained.

    Ctrl-C says how to resume there too.
    """
    before = signal.getsignal(signal.SIGTERM)
    listening = listen(run)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise interrupted(run) from stop
    finally:
        if listening and before is not None:
            signal.signal(signal.SIGTERM, before)


def listen(run: Run) -> bool:
    """Take SIGTERM, also from Lightning, whose own handler would end a stage without a state; if this thread may."""

    def ask(number: int, frame: object) -> None:
        run.stop_asked = True
        if not run.stops_itself:
            raise stopped(run)

    may = threading.current_thread() is threading.main_thread()  # Python takes handlers in no other
    if may:
        signal.signal(signal.SIGTERM, ask)
    return may


def stopped(run: Run) -> Stopped:
    """Return the message after SIGTERM."""
    return Stopped("stopped, the state is saved", where=str(run.resumed_from), fix=f"resume with: {run.command}")


def interrupted(run: Run) -> Interrupted:
    """Return the message after Ctrl-C."""
    fix = f"resume after the last step that was saved: {run.command}"
    return Interrupted("interrupted", where=str(run.resumed_from), fix=fix)


@contextlib.contextmanager
def full_disk_resumes(run: Run) -> Iterator[None]:
    """Inside the block a full disk ends the run with the command that resumes after its last state."""
    try:
        yield
    except Exception as error:
        if run.keeps_nothing or not is_full(error):
            raise
        what, where = "the disk is full", str(run.folder)
        if isinstance(error, PlantError):
            what, where = error.what, error.where or where
        fix = f"free some space, then resume with: {run.command}"
        raise FullDiskError(what, where=where, fix=fix) from error


def command(configuration: str, folder: Path) -> str:
    """Return the command of this run, with its folder to resume; flags as they were typed."""
    name, *words = sys.argv
    program = Path(name).stem
    if (folder / SETTLED).is_file():  # without looking at the data again
        program, typed = "libmultilabel", ["--config", str(folder / SETTLED)]
    elif program == "libmultilabel" or [program, *words[:1]] == ["plant", "train"]:
        typed = [word for word in words if not word.startswith("--resume=")]
        while "--resume" in typed:
            place = typed.index("--resume")
            del typed[place : place + 2]
    else:
        program, typed = "libmultilabel", ["--config", configuration]
    return shlex.join([program, *typed, "--resume", str(folder)])


class RequiredContent(TypedDict):
    """Keys that every state has; one without them is of something else."""

    config: str  # hash
    step: int  # optimiser steps done
    epoch: int  # to resume with, at `batch`
    batch: int
    has_ended: bool  # the early stopping had already ended the stage
    skipped: int  # steps left out so far, see training/guards.py
    pieces: int  # parts that a batch was computed in, see there
    log_lengths: dict[str, int]  # evaluations that `logs.json` held, by split
    logs: Logs  # evaluations of `logs.json`
    has_best: bool  # `best.ckpt` was there


class StateContent(RequiredContent, total=False):
    """The part of a state that is ours; other files of the run are mended from it."""

    record: RunRecord  # `run.json`, where it was whole
    metrics_size: int  # bytes of `metrics.csv`, from the process that writes it


def is_whole(path: Path) -> bool:
    """Tell whether a file that torch wrote is there and its sums agree; torch itself does not compare them."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except UNREADABLE:
        return False


def read_state(path: Path) -> StateContent | None:
    """Read our part of a state; None where it is torn."""
    import torch

    if not is_whole(path):
        return None
    try:
        content: StateContent = torch.load(path, map_location="cpu", weights_only=True, mmap=True)[STATE_KEY]
    except UNREADABLE:
        return None
    return content if content.keys() >= RequiredContent.__required_keys__ else None


def states_of(folder: Path) -> Iterator[StateContent]:
    """Yield the whole states of a run's folder, the newest first."""
    for path in sorted(folder.glob(f"stage*/{PATTERN}"), reverse=True):
        if (content := read_state(path)) is not None:
            yield content


def record_of(folder: Path) -> RunRecord | None:
    """Read ``run.json`` of a folder; where it is torn, from the newest state."""
    if (record := read_run_record(folder)) is None:
        for state in states_of(folder):
            logger.warning("%s is torn; the run's newest state has what it held.", folder / RUN_FILE)
            return state.get("record") or {"config_hash": state["config"]}
    return record


def mend_logs(folder: Path) -> None:
    """Write ``logs.json`` again from the newest state where it is torn.

    Raises:
        CheckpointError: No state holds it.
    """
    try:
        read_logs(folder / LOGS)
    except CheckpointError:
        held = next((state["logs"] for state in states_of(folder)), None)
        if held is None:
            raise
        logger.warning("%s is torn; its epochs are taken from the run's newest state.", folder / LOGS)
        write_logs(folder / LOGS, held)
