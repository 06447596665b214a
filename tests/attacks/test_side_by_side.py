"""Runs that are started in the same second, or of the same folder, and runs that are stopped before they begin."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from attacked import Ended, Tally, attempt, differences, short_config, write_data

from plant_plugin.config import Config
from plant_plugin.training import inputs
from plant_plugin.training import run as training
from plant_plugin.training.run import run
from plant_plugin.training.stage2 import Stage2

FORK = multiprocessing.get_context("fork")


def together(barrier: Any, config: Config) -> None:
    barrier.wait(60)
    run(config)


@pytest.mark.parametrize(
    "pairs", [pytest.param(1, marks=pytest.mark.integration), pytest.param(20, marks=pytest.mark.attacks)]
)
def test_two_runs_of_one_second_are_two_whole_runs(tmp_path: Path, tally: Tally, pairs: int) -> None:
    write_data(tmp_path)
    alone = short_config(tmp_path, tmp_path / "alone")
    assert attempt(run, alone).code == 0
    failed = []
    for pair in range(pairs):
        place = tmp_path / f"pair{pair}"
        config, barrier = short_config(tmp_path, place), FORK.Barrier(2)
        processes = [FORK.Process(target=together, args=(barrier, config)) for _ in range(2)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        folders = sorted((place / "runs").iterdir())
        codes = [process.exitcode for process in processes]
        found = [differences(alone.checkpoint_dir, folder) for folder in folders]
        named = [folder.name for folder in folders] == [config.run_name, f"{config.run_name}_2"]
        survived = codes == [0, 0] and found == [[], []] and named
        tally("two runs of one second", survived)
        if not survived:
            failed.append((codes, folders, found))
    assert failed == []


def held(config: Config, begun: Any, go_on: Any) -> None:
    """A run that waits in its first step of stage 2."""
    step = Stage2.training_step

    def wait(*arguments: Any) -> Any:
        begun.set()
        go_on.wait(60)
        return step(*arguments)

    Stage2.training_step = wait  # type: ignore[method-assign]
    run(config)


@pytest.mark.integration
def test_a_run_is_resumed_by_one_process_alone(tmp_path: Path, tally: Tally) -> None:
    write_data(tmp_path)
    whole, config = (short_config(tmp_path, tmp_path / name) for name in ("whole", "cut"))
    assert attempt(run, whole).code == 0
    begun, go_on = FORK.Event(), FORK.Event()
    process = FORK.Process(target=held, args=(config, begun, go_on))
    process.start()
    assert begun.wait(60)
    for resume in ("auto", str(config.checkpoint_dir)):
        ended = attempt(run, short_config(tmp_path, tmp_path / "cut", resume=resume))
        refused = ended.refused and f"in use by process {process.pid} on" in ended.said
        tally("a second process in the folder of a run", refused)
        assert refused, ended
    process.kill()  # its lock goes with it
    process.join()
    ended = attempt(run, short_config(tmp_path, tmp_path / "cut", resume="auto"))
    found = differences(whole.checkpoint_dir, config.checkpoint_dir)
    tally("a lock of a killed process", ended.code == 0 and not found)
    assert (ended.code, found) == (0, [])
    logs = json.loads((config.checkpoint_dir / "logs.json").read_text())
    assert (len(logs["stage1"]), len(logs["val"]), len(logs["test"])) == (1, 2, 1)


def stopped(config: Config, owner: Any, name: str, number: int) -> None:
    """Get a signal at a function of the preparation."""

    def stop(*arguments: Any, **options: Any) -> Any:
        os.kill(os.getpid(), number)
        raise AssertionError("still running")

    setattr(owner, name, stop)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    run(config)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(training, "prepare"), (inputs, "compute_relevance"), (training, "mark_tokens"), (training, "run_in_folder")],
)
def test_a_run_that_is_stopped_before_it_trains_leaves_nothing(
    tmp_path: Path, tally: Tally, number: int, code: int, owner: Any, name: str
) -> None:
    write_data(tmp_path)
    ended: Ended = attempt(stopped, short_config(tmp_path, tmp_path / "cut"), owner, name, number)
    left = list((tmp_path / "cut" / "runs").iterdir())
    one_line = ended.said.endswith("stopped before training began, nothing is left behind") and "\n" not in ended.said
    tally("a signal before training", ended.code == code and one_line and not left)
    assert (ended.code, one_line, left) == (code, True, [])
