"""What ends a run before its time: Ctrl-C, SIGTERM, a full disk; and the command that goes on with it."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import FullDiskError, Interrupted, PlantError, Stopped
from plant_plugin.files import is_full

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.report.run import Run


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
