"""The folder of a run: made for one run only, locked while that lasts, and gone again where nothing came of it."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, Interrupted, PlantError, Terminated
from plant_plugin.files import locked
from plant_plugin.report.metric_log import FILE
from plant_plugin.report.record import FIRST_PASS, RUN_FILE

LOCK = ".lock"
SETTLED = "settled.yml"  # what `choose: true` has chosen
UNTRAINED = {RUN_FILE, LOCK, SETTLED, FILE, "relevance.npz"}  # files of a run that has not come to its first state
WORTH_KEEPING = 60.0  # seconds after which even these are kept


@contextlib.contextmanager
def own_folder(config: Config) -> Iterator[Config]:
    """Make the folder of a run, or take that of the run to resume, and hold its lock; yields where that is.

    Two runs of one second get two folders: the later one's name ends in ``_2``. A run that is stopped before its
    training has begun leaves no folder. Of several processes of one run only the first calls this; where ``torchrun``
    has started them the others get their folder from it.

    Raises:
        CheckpointError: There is no such folder to resume.
        PlantError: It cannot be written, or another process works in it, which is named.
        Interrupted: Stopped, and nothing is left.
    """
    if os.environ.get("RANK", "0") != "0":
        yield config
        return
    started = time.monotonic()
    config, new = _made(config)
    folder = Path(config.checkpoint_dir)
    whole = folder.parent if folder.name == FIRST_PASS else folder  # one lock for both trainings of `refit`

    def forgotten() -> bool:
        """Tell whether nothing in the folder is worth keeping."""
        names = {path.name for path in folder.rglob("*") if path.is_file()}
        return new and names <= UNTRAINED and time.monotonic() - started <= WORTH_KEEPING

    fix = "wait for its end, or start a run of your own without --resume"
    try:
        with locked(whole / LOCK, fix), stoppable(forgotten, str(folder)):
            yield config
    except PlantError as error:  # here the lock is given back, or it would be said to be lost
        refused = new and folder.is_dir() and {path.name for path in folder.iterdir()} <= {SETTLED}
        if refused or (isinstance(error, Interrupted) and forgotten()):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _made(config: Config) -> tuple[Config, bool]:
    """Return the configuration with its folder, and whether that is new."""
    folder = Path(config.checkpoint_dir)
    if config.resume is not None:
        if not folder.is_dir():
            fix = "give the folder of an interrupted run"
            raise CheckpointError("nothing to resume is here", where=str(folder), fix=fix)
        return config, False
    try:
        if folder != config.new_folder:  # whoever calls has named it
            new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            return config, new
        folder.parent.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            name = config.run_name + (f"_{number}" if number > 1 else "")
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder.with_name(name))
                break
    except OSError as error:
        raise unwritable(folder, error) from error
    return replace(config, run_name=name, checkpoint_dir=folder.with_name(name)), True


def unwritable(folder: Path, error: OSError) -> PlantError:
    """Return the error for a folder that the system refuses to make or change."""
    fix = "choose another with --result_dir, or change its permissions"
    return PlantError(f"the result folder cannot be written ({error.strerror})", where=str(folder), fix=fix)


@contextlib.contextmanager
def stoppable(forgotten: Callable[[], bool], where: str | None = None) -> Iterator[None]:
    """End the block on SIGTERM as on Ctrl-C; where ``forgotten`` says that nothing is kept, so is said.

    Raises:
        Interrupted: Stopped.
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated("stopped")

    may_listen = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, terminate) if may_listen else None
    try:
        yield
    except (KeyboardInterrupt, Interrupted) as stop:
        if not forgotten():
            raise
        by_user = isinstance(stop, KeyboardInterrupt) or stop.exit_code == Interrupted.exit_code
        what = "stopped before training began, nothing is left behind"
        raise (Interrupted if by_user else Terminated)(what, where=where) from stop
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)
