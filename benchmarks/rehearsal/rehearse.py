"""A dress rehearsal at true size: what a packaged configuration of MIMIC costs from the tables to the planted scores.

    python benchmarks/rehearsal/rehearse.py mimic3 FOLDER                # plant_mimic3.yml; FOLDER takes 10 GB
    python benchmarks/rehearsal/rehearse.py mimic4 FOLDER --only tables,prepare,count
    python benchmarks/rehearsal/rehearse.py xmc FOLDER                   # plant prepare alone, 600,000 documents
    python benchmarks/rehearsal/rehearse.py mimic3 FOLDER --share 0.01 --page FOLDER/page.md --max_seq_length 100

Tables are made up (``made_up_tables.py``); what follows are the commands that a user types, the first of them those in
the head of the configuration. Each runs in a process of its own, of which the system tells time and peak memory, and is
not done again where FOLDER has its record. Then the page is written, of all that FOLDER has a record of. Further flags
go to ``libmultilabel``. FOLDER can be deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "tables" / "rehearsal.md"
FIRST = "# first: "  # how lines in the head of a configuration start that say what makes its files
RECORDS = "records"  # of the steps, in the folder of a data set
GIB = 1024**3
# What is made up, in the folder of a data set.
RAW = {"mimic3": ["mimic-iii", "caml-mimic"], "mimic4": ["mimic-iv", "mimic-iv-note"], "xmc": ["raw"]}


@dataclass(frozen=True)
class Step:
    """A command, run in the folder of a data set, and what it leaves there."""

    name: str
    command: Sequence[str]
    makes: Sequence[str] = ()


def steps(what: str, share: float, batches: int, flags: Sequence[str]) -> Iterator[Step]:
    """All of them, in order."""
    config, raw = f"plant_{what}.yml", RAW[what]
    yield Step("tables", ["python", str(HERE / "made_up_tables.py"), what, ".", "--share", str(share)], raw)
    if what == "xmc":
        yield Step("prepare", ["plant", "prepare", "xmc", "raw", "data"], ["data"])
        return
    show = [sys.executable, "-c", "from plant_plugin.cli import plant; plant()", "show", config]
    shown = subprocess.run(show, capture_output=True, text=True, check=True)
    head = shown.stdout.splitlines()
    for line in head:
        if line.startswith(FIRST):
            yield Step(line.split()[3], shlex.split(line.removeprefix(FIRST)), ["data"])
    folder = next(line.split()[1] for line in head if line.startswith("training_file:")).rpartition("/")[0]
    yield Step("count", ["plant", "stats", *(f"{folder}/{split}.txt" for split in ("train", "valid", "test"))])
    cache = ["--cache_dir", "cache"]
    yield Step(
        "relevance", ["plant", "relevance", config, "--out", "relevance.npz", *cache], ["relevance.npz", "cache"]
    )
    run = ["libmultilabel", "--config", config, "--cpu", "--silent", *cache, *flags]
    few = [f"--limit_{split}_batches" for split in ("train", "val", "test")]
    few = [part for flag, number in zip(few, (batches, 2, 2), strict=True) for part in (flag, str(number))]
    alone = ["--planted_scores.model", "none", "--stage1.epochs", "1", "--stage2.epochs", "1"]
    yield Step("stages", [*run, *alone, *few, "--result_dir", "runs/stages"], ["runs/stages"])
    yield Step(
        "scores", [*run, "--strategy", "planted_scores", "--result_dir", "runs/scores"], ["runs/scores", "cache"]
    )


def measured(step: Step, folder: Path) -> dict[str, object]:
    """Run a step; what it took, in seconds and bytes, and what it printed."""
    program, *arguments = step.command
    entry = f"from plant_plugin.cli import {program}; {program}()"
    words = [sys.executable, *arguments] if program == "python" else [sys.executable, "-c", entry, *arguments]
    log, start = folder / RECORDS / f"{step.name}.log", time.perf_counter()
    with open(log, "w", encoding="utf-8") as stream:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)  # of this process alone
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    printed = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        raise SystemExit(f"{shlex.join(step.command)} ended with {process.returncode}:\n{printed[-3000:]}")
    made = sum(
        path.stat().st_size
        for name in step.makes
        for path in (folder / name, *(folder / name).rglob("*"))
        if path.is_file()
    )
    return {
        "command": shlex.join(step.command), "wall_s": wall, "cpu_s": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024, "made_bytes": made, "printed": printed,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=RAW)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of all rows, stays and codes")
    parser.add_argument("--steps", type=int, default=32, help="batches that each stage is trained for")
    parser.add_argument("--only", help="steps to do, with commas, or none; else all")
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments, flags = parser.parse_known_args()
    folder = arguments.folder / arguments.what
    (folder / RECORDS).mkdir(parents=True, exist_ok=True)
    for step in steps(arguments.what, arguments.share, arguments.steps, flags):
        path = folder / RECORDS / f"{step.name}.json"
        if not path.is_file() and (arguments.only is None or step.name in arguments.only.split(",")):
            print(shlex.join(step.command), flush=True)
            record = measured(step, folder)
            path.write_text(json.dumps(record, indent=1), encoding="utf-8")
            told = f"{record['cpu_s']:.0f} s of processor, {record['wall_s']:.0f} s"
            print(f"  {told}, {record['peak_bytes'] / GIB:.2f} GiB", flush=True)
    from page import page  # not before: the system counts the memory of this process among that of each step

    before = arguments.page.read_text(encoding="utf-8") if arguments.page.is_file() else ""
    arguments.page.write_text(page(arguments.folder, before), encoding="utf-8")


if __name__ == "__main__":
    main()
