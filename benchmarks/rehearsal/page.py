"""``benchmarks/tables/rehearsal.md``: what the steps of a dress rehearsal took."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from plant_plugin.report.machine import processor_name

STEPS = ("tables", "prepare", "count", "relevance", "stages", "scores")
RECORDS = "records"  # of the steps, in the folder of a data set
GIB = 1024**3
NAMES = {"mimic3": "MIMIC-III: `plant_mimic3.yml`", "mimic4": "MIMIC-IV: `plant_mimic4.yml`",
         "xmc": "600,000 documents of the extreme classification repository's form"}  # fmt: skip
TRUE = {  # as the documentation of the data and the papers tell it
    "mimic3": {
        "note rows": "2,083,180", "discharge summaries": "59,652", "diagnosis rows": "651,047",
        "procedure rows": "240,095", "train": "47,723", "valid": "1,631", "test": "3,372", "labels": "8,929",
        "words a training document": "1,485", "labels a training document": "15.9",
    },
    "mimic4": {
        "discharge summaries": "331,793", "diagnosis rows": "4,756,326", "procedure rows": "669,186",
        "documents": "122,279", "labels": "7,942",
    },
}  # fmt: skip
VERSIONS = {"mimic3": "MIMIC-III v1.4 and CAML's split", "mimic4": "MIMIC-IV 2.2 and its codes of ICD-10"}
RUNS = {"stages": "some batches of both stages", "scores": "planted scores alone"}
PHASES = {  # of a run, whose names say it less well
    "read": "reading", "tokens": "vocabulary and tokens", "planted_scores": "planted scores solved and weighed",
    "stage1": "stage 1", "stage2": "stage 2",
}  # fmt: skip


def page(folder: Path, before: str = "") -> str:
    """The page of all data sets that a folder has records of; of others what the page ``before`` it said stays."""
    parts, told = [_head(folder)], re.split(r"^## (.*)\n", before, flags=re.MULTILINE)
    known = dict(zip(told[1::2], told[2::2], strict=True))
    for what, name in NAMES.items():
        records = read_records(folder / what)
        if records:
            parts += _data_set(what, folder / what, records)
        elif name in known:
            parts += [f"## {name}", known[name].rstrip("\n"), ""]
    return "\n".join(parts)


def read_records(folder: Path) -> dict[str, Any]:
    """By step, in the order of :func:`rehearse.steps`."""
    paths = [path for step in STEPS if (path := folder / RECORDS / f"{step}.json").is_file()]
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _head(folder: Path) -> str:
    shares = {share for what in NAMES for share in _shares(folder / what)}
    told = "" if shares <= {"1.0"} else f" **Shares of the true size: {', '.join(sorted(shares))}.**"
    return f"""# A dress rehearsal at true size

Written by `python benchmarks/rehearsal/rehearse.py`, on tables that are made up: MIMIC's columns and numbers of rows,
random codes, notes joined from runs of a few words of other texts. Nothing here tells how good a model is.{told}

One thread for each command (`OMP_NUM_THREADS=1`), with other programs beside it: read the seconds of the processor, not
those of the clock, and do not compare those of two processors. Memory is the highest resident memory.
"""


def _shares(folder: Path) -> list[str]:
    return [record["command"].split()[-1] for name, record in read_records(folder).items() if name == "tables"]


def _data_set(what: str, folder: Path, records: dict[str, Any]) -> list[str]:
    machine = f"Processor: {processor_name()}, {os.cpu_count()} cores."
    parts = [f"## {NAMES[what]}", "", machine, "", *_steps(records), ""]
    if missing := [step for step in STEPS if what in TRUE and step not in records]:
        parts += [f"Not done here: {', '.join(missing)}.", ""]
    if what in TRUE and "prepare" in records:
        parts += _counted(what, folder, records)
    for run in (run for run in RUNS if run in records):
        parts += _phases(folder, run)
    if "stages" in records:
        parts += _stages(folder, records)
    return parts


def _steps(records: dict[str, Any]) -> list[str]:
    rows = ["| command | processor, s | clock, s | peak memory, GiB | written, GiB |", "|---|--:|--:|--:|--:|"]
    for record in records.values():
        command = re.sub(r"\S*/benchmarks/", "benchmarks/", record["command"])
        numbers = f"{record['cpu_s']:,.0f} | {record['wall_s']:,.0f} | {record['peak_bytes'] / GIB:.2f}"
        rows.append(f"| `{command}` | {numbers} | {record['made_bytes'] / GIB:.2f} |")
    return rows


def _counted(what: str, folder: Path, records: dict[str, Any]) -> list[str]:
    """What there is to be found in MIMIC, and what is in the made-up tables."""
    printed = records["prepare"]["printed"]
    found = {
        name: number for name, number in re.findall(r"^ {0,2}(\w[\w ]*?) {2,}([\d,]+)$", printed, re.MULTILINE)[::-1]
    }
    if "count" in records:
        train = records["count"]["printed"].partition("\n  words a document")[0]
        documents, words = (
            int(re.search(rf"{name} +([\d,]+)", train)[1].replace(",", "")) for name in ("documents", "words")
        )
        given = sum(
            1 for line in open(_training_file(folder), encoding="utf-8") for _ in line.partition("\t")[0].split()
        )
        found |= {
            "words a training document": f"{words / documents:,.0f}",
            "labels a training document": f"{given / documents:.1f}",
        }
    rows = [f"| {name} | {number} | {found.get(name, '–')} |" for name, number in TRUE[what].items()]
    told = f"What is in the data is what documentation and papers say of {VERSIONS[what]}, as far as we know it."
    return [told, "", "| what | in the data | made up |", "|---|--:|--:|", *rows, ""]


def _training_file(folder: Path) -> Path:
    return next(path for name in ("MIMIC", "MIMIC-IV") if (path := folder / "data" / name / "train.txt").is_file())


def _result(folder: Path, run: str) -> dict[str, Any]:
    (path,) = (folder / "runs" / run).glob("*/result.json")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _stages(folder: Path, records: dict[str, Any]) -> list[str]:
    """What a whole epoch takes here, from some of its batches."""
    result, command = _result(folder, "stages"), records["stages"]["command"]
    batches = int(_found(r"--limit_train_batches (\d+)", command))
    documents = sum(1 for _ in open(_training_file(folder), "rb"))
    (log,) = (folder / "runs" / "stages").glob("*/logs.json")
    size = int(json.loads(log.read_text(encoding="utf-8"))["config"]["batch_size"])
    whole = -(-documents // size)
    rows = ["| stage | batches, of an epoch's | processor, s a batch | an epoch here, h |", "|---|--:|--:|--:|"]
    for stage in ("stage1", "stage2"):
        each = result["cpu_s"][stage] / batches
        measured = f"{batches:,} of {whole:,} | {each:.1f} | {each * whole / 3600:.1f}"
        rows.append(f"| {PHASES[stage]} | {measured} |")
    head = f"""Some batches of {size} documents of each stage; validation on two batches of the longest documents, and
what the stage writes, are in it."""
    return [head, "", *rows, ""]


def _found(pattern: str, text: str) -> str:
    """The first group of a pattern that is there."""
    match = re.search(pattern, text)
    assert match is not None, pattern
    return match[1]


def _phases(folder: Path, run: str) -> list[str]:
    """What a run took, phase by phase."""
    result = _result(folder, run)
    rows = [f"| {RUNS[run]} | processor, s | clock, s | peak memory, GiB |", "|---|--:|--:|--:|"]
    for phase, seconds in result["time_s"].items():
        peak = result["peak_memory_mb"].get(phase, 0) / 1024
        rows.append(f"| {PHASES.get(phase, phase)} | {result['cpu_s'][phase]:,.0f} | {seconds:,.0f} | {peak:.2f} |")
    return [*rows, ""]
