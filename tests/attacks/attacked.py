"""Short runs, and functions in processes of their own that may be killed, take too much memory, or end in a crash."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from made_up_task import made_config, write_split
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.errors import PlantError

Tally = Callable[[str, bool], None]

SHORT: dict[str, Any] = {
    "stage1__epochs": 1, "stage2__epochs": 2, "batch_size": 10, "checkpoint_every": "2",
    "network_config__hidden_size": 8, "network_config__embed_dim": 8,
}  # fmt: skip
ROOM = 2**30  # bytes that an attack may take on top of what the process has
SECONDS = 2.0  # of processor time, for what is read


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit code, the signal's number if negative; the error in one line, or a traceback."""

    code: int
    said: str

    @property
    def well(self) -> bool:
        return self.code == 0 or self.refused

    @property
    def refused(self) -> bool:
        """One of our errors: a line of what is wrong, perhaps one of how to mend it."""
        return self.code == 2 and 0 < len(self.said.splitlines()) <= 2


def attempt(function: Callable[..., Any], *arguments: Any, limited: bool = False) -> Ended:
    """Run a function in a forked process, ``limited`` in memory and processor time."""
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(function, arguments, limited, send))
    process.start()
    send.close()
    try:
        code, said = receive.recv() if receive.poll(300) else (-signal.SIGALRM, "300 seconds")
    except EOFError:
        code, said = None, ""
    if process.is_alive() and code == -signal.SIGALRM:
        process.kill()
    process.join()
    return Ended(int(process.exitcode or 0) if code is None else code, said)


def _child(function: Callable[..., Any], arguments: tuple[Any, ...], limited: bool, send: Any) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    started = resource.getrusage(resource.RUSAGE_SELF)
    if limited:
        room = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    try:
        function(*arguments)
        code, said = 0, ""
    except PlantError as error:
        code, said = error.exit_code, error.format_message()
    except BaseException:
        code, said = 1, traceback.format_exc()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    seconds = ended.ru_utime - started.ru_utime + ended.ru_stime - started.ru_stime
    if limited and seconds > SECONDS:
        code, said = 1, f"took {seconds:.1f} seconds: {said}"
    send.send((code, said))
    sys.stdout.flush()
    os._exit(0)


@functools.cache
def warm_up() -> None:
    """Import and compile in this process all that a run needs: forked ones find it there."""
    from plant_plugin.training.run import run

    with tempfile.TemporaryDirectory() as folder:
        _write_data(Path(folder))
        run(short_config(Path(folder), Path(folder)))


def write_data(folder: Path) -> None:
    warm_up()
    _write_data(folder)


def _write_data(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, documents) in enumerate({"train": 40, "valid": 12, "test": 12}.items()):
        write_split(folder / f"{name}.txt", documents, seed)


def short_config(data: Path, place: Path, **changes: Any) -> Config:
    """A run of less than a second that writes all below ``place``."""
    own = {"result_dir": str(place / "runs"), "cache_dir": str(place / "cache"), "predict_out_path": None}
    return made_config(data, **{**SHORT, **own, **changes})


def differences(one: Path, other: Path, *, history: bool = True) -> list[str]:
    """What two run folders that should be the same do not share; ``history``: of their epochs too."""
    found = []
    try:
        left, right = (json.loads((folder / "result.json").read_text()) for folder in (one, other))
        found += [key for key in ("metrics", "thresholds", "counts") if left[key] != right[key]]
        weights = [load_file(folder / "model.safetensors") for folder in (one, other)]
        same = weights[0].keys() == weights[1].keys()
        if not same or any(
            own.numpy().tobytes() != weights[1][name].numpy().tobytes() for name, own in weights[0].items()
        ):
            found.append("weights")
        logs = [json.loads((folder / "logs.json").read_text()) for folder in (one, other)]
        found += [
            f"logs.json: {split}" for split in ("stage1", "val", "test") if logs[0].get(split) != logs[1].get(split)
        ]
    except (OSError, ValueError, KeyError) as error:
        return [f"{type(error).__name__}: {error}"]
    if history and (one / "metrics.csv").read_bytes() != (other / "metrics.csv").read_bytes():
        found.append("metrics.csv")
    hidden = [path.name for path in other.rglob(".*")]
    return found + [f"left behind: {name}" for name in hidden]


def only_run(place: Path) -> Path:
    """The one folder with a record among those below a place."""
    (folder,) = [path.parent for path in (place / "runs").glob("*/run.json")]
    return folder
