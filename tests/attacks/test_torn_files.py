"""Each file of a run folder torn, by itself: the run goes on to the same numbers, or says in a line what is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attacked import Tally, attempt, differences, only_run, short_config, write_data
from test_kill_points import killed, operations

from plant_plugin.training.run import run


def flipped(content: bytes) -> bytes:
    return bytes([content[0] ^ 1]) + content[1:]


TEARS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "all but the last byte": lambda content: content[:-1],
    "zeros, as of blocks that were never written": lambda content: bytes(len(content)),
    "the second half zeros": lambda content: content[: len(content) // 2].ljust(len(content), b"\0"),
    "one bit": lambda content: content[: len(content) // 2] + flipped(content[len(content) // 2 :]),
}
# A bit of a number may make another number: the records of a run have no sum, the last three only one in the manifest.
NO_SUMS = {"metrics.csv", "run.json", "logs.json", "result.json", "thresholds.json", "config.json", "labels.txt"}


# One of each kind, for the sample, each torn in one way.
SAMPLE = {
    "run.json": "half", "logs.json": "half", "metrics.csv": "half", "stage1.safetensors": "one bit",
    "best.ckpt": "half", "relevance.npz": "one bit",
}  # fmt: skip


def result_of(folder: Path) -> Any:
    return json.loads((folder / "result.json").read_text())["metrics"]


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param((0.6,), id="sample", marks=pytest.mark.integration),
        pytest.param((0.3, 0.6, 0.9, 1.1), id="whole", marks=pytest.mark.attacks),
    ],
)
def test_a_torn_file(tmp_path: Path, tally: Tally, moments: tuple[float, ...]) -> None:
    write_data(tmp_path)
    total = operations(tmp_path, tmp_path / "whole")
    whole = only_run(tmp_path / "whole")
    failed, tried = [], set()
    for moment in moments:
        place = tmp_path / f"cut{moment}"
        attempt(killed, place, int(moment * total), None, run, short_config(tmp_path, place))
        interrupted = only_run(place)
        for path in sorted(path for path in interrupted.rglob("*") if path.is_file() and path.name[0] != "."):
            for tear in TEARS:
                if len(moments) == 1 and SAMPLE.get(path.name) != tear:
                    continue
                if tear == "one bit" and path.name in NO_SUMS:
                    continue
                folder = place / "torn"
                shutil.copytree(interrupted, folder)
                torn = folder / path.relative_to(interrupted)
                torn.write_bytes(TEARS[tear](torn.read_bytes()))
                config = short_config(tmp_path, place, resume=str(folder))
                ended = attempt(run, replace(config, checkpoint_dir=folder))
                found = []
                if ended.code == 0 and moment < 1:
                    found = differences(whole, folder, history=path.name != "metrics.csv")
                elif ended.code == 0 and result_of(folder) != result_of(whole):  # it has ended: nothing is made again
                    found = ["result.json"]
                survived = ended.well and not found
                tally("a torn file of a run folder", survived)
                tried.add(path.name)
                if not survived:
                    failed.append(f"{moment} {path.relative_to(interrupted)} {tear}: {ended} {found}")
                shutil.rmtree(folder)
    assert failed == []
    assert tried >= SAMPLE.keys()
