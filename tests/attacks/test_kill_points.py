"""``kill -9`` at every kind of moment that changes a file: the run goes on to the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attacked import Ended, Tally, attempt, differences, only_run, short_config, write_data

from plant_plugin.training.run import run

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
EVENTS = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "shutil.rmtree"}
NEVER = 10**9


def killed(place: Path, kill_at: int, counted: Path | None, work: Callable[..., Any], *arguments: Any) -> None:
    """Do the work and die at the n-th operation that changes something below ``place``, or is to flush a file."""
    seen, fsync = 0, os.fsync

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def look(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = given
            changes = any(sign in mode for sign in "wax+") if isinstance(mode, str) else bool((flags or 0) & WRITES)
        else:
            path, changes = given[0] if given else None, event in EVENTS
        if changes and isinstance(path, str | os.PathLike) and os.fspath(path).startswith(str(place)):
            count()

    def counted_fsync(number: int) -> None:
        count()
        fsync(number)

    sys.addaudithook(look)
    os.fsync = counted_fsync  # type: ignore[assignment]
    work(*arguments)
    if counted is not None:
        counted.write_text(str(seen))


def operations(data: Path, place: Path, **changes: Any) -> int:
    """Those of a whole run, which is left below ``place``."""
    counted = data / f"{place.name}.count"
    ended = attempt(killed, place, NEVER, counted, run, short_config(data, place, **changes))
    assert ended.code == 0, ended.said
    return int(counted.read_text())


def resumed(data: Path, place: Path, **changes: Any) -> Ended:
    return attempt(run, short_config(data, place, resume="auto", **changes))


@pytest.mark.parametrize(
    ("changes", "points"),
    [
        pytest.param({}, 1, marks=pytest.mark.integration),
        pytest.param({}, 90, marks=pytest.mark.attacks),
        pytest.param({"refit": "train+val", "stage2__epochs": 1}, 30, marks=pytest.mark.attacks),
    ],
)
def test_a_killed_run_goes_on_to_the_same_bytes(
    tmp_path: Path, tally: Tally, changes: dict[str, Any], points: int
) -> None:
    write_data(tmp_path)
    total = operations(tmp_path, tmp_path / "whole", **changes)
    whole = only_run(tmp_path / "whole")
    draw, failed = random.Random(7), []
    for number in range(points):
        place = tmp_path / f"cut{number}"
        kill_at = 1 + (2 * number + 1) * total // (2 * points)
        died = [attempt(killed, place, kill_at, None, run, short_config(tmp_path, place, **changes))]
        if number % 3 == 2:  # a second time, while it goes on
            config = short_config(tmp_path, place, resume="auto", **changes)
            died.append(attempt(killed, place, draw.randint(1, total - kill_at + 1), None, run, config))
        ended = resumed(tmp_path, place, **changes)
        folder = max((path.parent for path in (place / "runs").glob("*/result.json")), default=None)
        found = ["no result"] if folder is None else differences(whole, folder)
        survived = ended.code == 0 and not found
        tally("kill -9 at a file operation" + (", with refit" if changes else ""), survived)
        if not survived or died[0].code != -signal.SIGKILL:
            failed.append(f"operation {kill_at} of {total}: {died}, {ended}, {found}")
        shutil.rmtree(place)
    assert failed == []
