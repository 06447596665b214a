"""One trial: an ordinary run in a process and a folder of its own, without the test split.

A process of its own, because a trial that runs out of memory or crashes then ends alone, and because Ray runs trials in
threads, where Lightning and signals do not work.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import yaml
from typing_extensions import TypedDict

from plant_plugin.config import load_config
from plant_plugin.config.values import Keys
from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.files import read_json, write_json, write_text
from plant_plugin.report.logs import LOGS, evaluations, read_logs

CONFIG, LOG, OUTCOME = "config.yml", "trial.log", "outcome.json"
KEPT = (CONFIG, LOG, LOGS, OUTCOME, "metrics.csv")  # of a trial that is not the best
PROGRAM = """import sys
folder, *sys.path = sys.argv[1:]
from plant_plugin.training.search.trial import main
sys.exit(main(folder))
"""
LOOK_SECONDS = 0.5  # how often a running trial's logs.json is read


class TrialFailed(RuntimeError):
    """A trial that did not end well; its folder says why."""


class Outcome(TypedDict, total=False):
    """``outcome.json``: how a trial ended; there is none where it was stopped before its end."""

    finished: bool
    failure: str


def write_configuration(path: Path, values: Keys, heading: str = "") -> None:
    """Write a configuration file."""
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    write_text(path, heading + text)


def read_values(folder: Path, metric: str, split: str = "val") -> list[float]:
    """The metric after each epoch so far, from ``logs.json``; nothing where it is just being written."""
    try:
        entries = evaluations(read_logs(folder / LOGS), split)
    except (OSError, PlantError):
        return []
    by_name = ({name.lower(): value for name, value in entry.items()} for entry in entries)
    values = (entry.get(metric.lower()) for entry in by_name)
    return [math.nan if value is None else value for value in values]


def best_epoch(values: list[float], mode: str) -> int | None:
    """Number, from 0, of the first epoch with the best value; None where no value is a number."""
    known = [epoch for epoch, value in enumerate(values) if math.isfinite(value)]
    choose = min if mode == "min" else max
    return choose(known, key=values.__getitem__, default=None)


def run_trial(
    folder: Path, metric: str, mode: str, epochs: int, *, working_folder: str, module_path: Sequence[str]
) -> Generator[float, None, None]:
    """Run ``config.yml`` of a trial's folder, which receives the run, ``trial.log`` and ``outcome.json``.

    Yields:
        After each of at most ``epochs`` epochs the best value so far of the metric, of the last one when its model is
        saved, as the scheduler may stop the trial then. A trial whose iterator is closed before its end is stopped.

    Raises:
        TrialFailed: With the reason, which ``outcome.json`` holds too.
    """
    command = [sys.executable, "-c", PROGRAM, str(folder), *module_path]
    with open(folder / LOG, "wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=working_folder
        )
    told, ended = 0, False
    try:
        while not ended:
            ended = process.poll() is not None
            values = read_values(folder, metric)
            known = len(values) if ended else min(len(values), epochs - 1)
            for epoch in range(told, known):
                best = best_epoch(values[: epoch + 1], mode)
                if best is not None:
                    yield values[best]
            told = max(told, known)
            if not ended:
                time.sleep(LOOK_SECONDS)
    finally:
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
    outcome = read_outcome(folder)
    failure = outcome.get("failure")
    if not outcome:
        code = process.returncode
        failure = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if code == -signal.SIGKILL:
            failure = "killed by the system, as happens when memory runs out"
    elif best_epoch(read_values(folder, metric), mode) is None and failure is None:
        failure = f"no epoch has a value of {metric} that is a number"
    if failure is not None:
        write_json(folder / OUTCOME, {"failure": failure})
        raise TrialFailed(failure)


def read_outcome(folder: Path) -> Outcome:
    """How a trial ended; empty where nothing tells, or it is torn: a search goes on without one trial."""
    with contextlib.suppress(OSError, CheckpointError):
        return read_json(folder / OUTCOME, Outcome, what="the outcome of a trial", fix="remove it")
    return {}


def main(name: str) -> int:
    """The trial's process, in the folder of this name."""
    folder = Path(name)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        config = replace(load_config(folder / CONFIG), run_name=folder.name, checkpoint_dir=folder)
        from plant_plugin.training.run import run  # seconds, which a wrong configuration does not wait for

        run(config, tests=False)
    except PlantError as error:
        print(error.format_message(), file=sys.stderr)
        write_json(folder / OUTCOME, {"failure": error.format_message()})
        return 1
    except Exception as error:
        traceback.print_exc()  # into trial.log
        # The message of a foreign error may quote a document: the table of trials holds the place only.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        write_json(folder / OUTCOME, {"failure": f"{type(error).__name__} in {where}; see {folder.name}/{LOG}"})
        return 1
    write_json(folder / OUTCOME, {"finished": True})
    return 0


def _end_with_parent() -> None:
    """Wait for the end of standard input, which comes when the search has ended, however it did."""
    while os.read(sys.stdin.fileno(), 1):  # not sys.stdin.read(), whose lock would disturb the end of this process
        pass
    os._exit(1)
