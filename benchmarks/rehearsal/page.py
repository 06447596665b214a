"""``benchmarks/tables/rehearsal.md``: what the steps of a dress rehearsal took, beside what was told before."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from plant_plugin.report.machine import processor_name

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
PHASES = {"read": "reading", "tokens": "vocabulary and tokens", "relevance": "relevance",
          "planted_scores": "planted scores solved and weighed", "stage1": "stage 1", "stage2": "stage 2",
          "test": "test"}  # fmt: skip


def page(folder: Path) -> str:
    """The page of all data sets that a folder has records of."""
    parts = [_head(folder)]
    for what in NAMES:
        records = read_records(folder / what)
        if records:
            parts += _data_set(what, folder / what, records)
    return "\n".join(parts)


def read_records(folder: Path) -> dict[str, Any]:
    """By step, in the order in which they were done."""
    paths = sorted((folder / RECORDS).glob("*.json"), key=lambda path: path.stat().st_mtime)
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _head(folder: Path) -> str:
    shares = {share for what in NAMES for share in _shares(folder / what)}
    told = "" if shares <= {"1.0"} else f" **Shares of the true size: {', '.join(sorted(shares))}.**"
    return f"""# A dress rehearsal at true size

Written by `python benchmarks/rehearsal/rehearse.py`, on tables that are made up: MIMIC's columns and numbers of rows,
random codes, notes joined from runs of a few words of other texts. Nothing here tells how good a model is.{told}

Machine: {processor_name()}, {os.cpu_count()} cores, one thread for each command (`OMP_NUM_THREADS=1`), with other
programs beside it: read the seconds of the processor, not those of the clock. Memory is the highest resident memory.
"""


def _shares(folder: Path) -> list[str]:
    return [record["command"].split()[-1] for name, record in read_records(folder).items() if name == "tables"]


def _data_set(what: str, folder: Path, records: dict[str, Any]) -> list[str]:
    parts = [f"## {NAMES[what]}", "", *_steps(records), ""]
    if what in TRUE and "prepare" in records:
        parts += _counted(what, folder, records)
    if "stages" in records:
        parts += _stages(folder, records)
    if "scores" in records:
        parts += _scores(folder)
    if "doctor" in records:
        parts += _predicted(folder, records)
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
    return ["| what | in the data, as published | made up |", "|---|--:|--:|", *rows, ""]


def _training_file(folder: Path) -> Path:
    return next(path for name in ("MIMIC", "MIMIC-IV") if (path := folder / "data" / name / "train.txt").is_file())


def _result(folder: Path, run: str) -> dict[str, Any]:
    (path,) = (folder / "runs" / run).glob("*/result.json")
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def _stages(folder: Path, records: dict[str, Any]) -> list[str]:
    """What a whole epoch takes here, from some of its batches."""
    result, command = _result(folder, "stages"), records["stages"]["command"]
    batches = int(re.search(r"--limit_train_batches (\d+)", command)[1])
    documents = sum(1 for _ in open(_training_file(folder), "rb"))
    whole = -(-documents // 8)
    rows = [
        "| stage | batches, of an epoch's | processor, s a batch | an epoch here, hours | peak memory, GiB |",
        "|---|--:|--:|--:|--:|",
    ]
    for stage in ("stage1", "stage2"):
        each = result["cpu_s"][stage] / batches
        peak = result["peak_memory_mb"][stage] / 1024
        rows.append(
            f"| {PHASES[stage]} | {batches:,} of {whole:,} | {each:.1f} | {each * whole / 3600:.1f} | {peak:.2f} |"
        )
    told = "Some batches of 8 documents of each stage; validation on two batches and its states on the disk are in it."
    return [told, "", *rows, ""]


def _scores(folder: Path) -> list[str]:
    """What planted scores alone take, phase by phase."""
    result = _result(folder, "scores")
    rows = ["| planted scores alone | processor, s | clock, s | peak memory, GiB |", "|---|--:|--:|--:|"]
    for phase, seconds in result["time_s"].items():
        peak = result["peak_memory_mb"].get(phase, 0) / 1024
        rows.append(f"| {PHASES.get(phase, phase)} | {result['cpu_s'][phase]:,.0f} | {seconds:,.0f} | {peak:.2f} |")
    return [*rows, ""]


def _predicted(folder: Path, records: dict[str, Any]) -> list[str]:
    """What ``plant doctor --config`` had told of the same files."""
    parts = []
    for step, device in (("doctor", "a GPU"), ("doctor_cpu", "this processor")):
        if step in records:
            told = records[step]["printed"]
            told = told[told.rindex("/plant_") + 1 :].rstrip()
            parts += [f"`plant doctor --config` on the same files, for {device}:", "", "```text", told, "```", ""]
    return parts
