"""The first prediction of a fresh process: what it imports, compiles and costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TRAINING_ONLY = "lightning libmultilabel torchmetrics transformers nltk gensim matplotlib sklearn pandas numba".split()
SECONDS, MEBIBYTES = 2.5, 450  # of processor time, Python's own start included, and of memory
TRIES = 3

PROGRAM = """
import json, os, resource, sys
from plant_plugin.cli import plant
asked, foreign = json.loads(sys.argv[1])
for arguments in asked:
    plant.main(arguments, standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
loaded = [name for name in foreign if name in sys.modules]
peak = used.ru_maxrss
if os.path.exists("/proc/self/status"):  # Linux: ru_maxrss knows the memory of the process that started this one too
    peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
print(json.dumps([loaded, used.ru_utime + used.ru_stime, peak / 1024]))
"""


def predict(place: Path, *asked: tuple[Path, str]) -> tuple[list[str], float, float]:
    """What was imported that only training needs, seconds and mebibytes; nothing may be compiled.

    ``asked``: model folders and the line that each predicts, in one process.
    """
    cache = place / "cache"
    cache.mkdir(exist_ok=True)
    arguments = []
    for number, (folder, text) in enumerate(asked):
        (place / f"{number}.txt").write_text(text + "\n", encoding="utf-8")
        arguments.append(["predict", str(folder), str(place / f"{number}.txt"), "--device", "cpu"])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([arguments, TRAINING_ONLY])],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    *predictions, measured = done.stdout.splitlines()
    assert [json.loads(one)["tokens"] for one in predictions] == [len(text.split()) for _, text in asked]
    assert done.stderr.splitlines() == ["1 document"] * len(asked)  # and no warning of anybody
    assert not list(cache.rglob("*.nbi"))
    found, seconds, mebibytes = json.loads(measured)
    return found, seconds, mebibytes


@pytest.mark.integration
def test_one_line_imports_nothing_that_only_training_needs_and_compiles_nothing(
    untrained: Callable[..., Path], trained: Path, tmp_path: Path
) -> None:
    without = untrained()
    asked = (without, "filler1 sign3x filler2"), (without, "naïve filler1"), (trained, "filler1 sign3x")
    assert predict(tmp_path, *asked)[0] == []


@pytest.mark.integration  # a clock: it says something only where nothing else runs
def test_one_line_takes_little_time_and_memory(untrained: Callable[..., Path], tmp_path: Path) -> None:
    measured = [predict(tmp_path, (untrained(), "filler1 sign3x filler2"))[1:] for _ in range(TRIES)]
    assert min(seconds for seconds, _ in measured) <= SECONDS
    assert max(mebibytes for _, mebibytes in measured) <= MEBIBYTES
