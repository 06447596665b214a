"""A model of half of CodiEsp's training documents to which the other half comes in five parts, by `plant train --from`.

    python benchmarks/teach.py DATA OUT [--write]

DATA is what `plant prepare codiesp` wrote for Spanish diagnoses; OUT, outside of this repository, gets texts and runs.
Runs that are there already are not made again. ``--write`` writes ``benchmarks/teach.json`` and the page. No network
or weight sees validation or test documents but to be chosen and to be measured: `refit` is off in all runs.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.model.predictor import Predictor
from plant_plugin.report.machine import processor_name
from plant_plugin.report.result import labels_outside, read_result

HERE = Path(__file__).resolve().parent
FILE, TABLE = HERE / "teach.json", HERE / "tables" / "desk_learning.md"
CONFIG, PARTS, SEED = "plant_codiesp.yml", 5, 0
Row = dict[str, float]


def divide(data: Path, out: Path) -> None:
    """Write ``half``, ``part1`` to ``part5`` and ``all``, in an order drawn at random, with their evidence."""
    lines = (data / "train.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    evidence = defaultdict(list)
    for line in (data / "train_evidence.tsv").read_text(encoding="utf-8").splitlines():
        document, rest = line.split("\t", 1)
        evidence[int(document)].append(rest)
    order = list(range(len(lines)))
    random.Random(SEED).shuffle(order)
    half, size = len(order) // 2, len(order) // 2 // PARTS
    sets = {f"part{part + 1}": order[half + part * size : half + (part + 1) * size] for part in range(PARTS)}
    for name, rows in {"half": order[:half], **sets, "all": order}.items():
        folder = out / "data" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "train.txt").write_text("".join(lines[row] for row in rows), encoding="utf-8")
        told = [f"{place}\t{rest}\n" for place, row in enumerate(rows) for rest in evidence[row]]
        (folder / "train_evidence.tsv").write_text("".join(told), encoding="utf-8")


def trained(out: Path, name: str, command: str, *arguments: str) -> Path:
    """The folder of a run, which is made where it is not there."""
    runs = out / "runs" / name
    if not list(runs.glob("*/result.json")):
        start = f"from plant_plugin.cli import {command}; {command}()"
        flags = ["--result_dir", str(runs), "--cpu", "--silent"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([sys.executable, "-c", start, *arguments, *flags], check=True, env=environment)
    return next(runs.glob("*/result.json")).parent


def anew(data: Path, out: Path, name: str) -> Path:
    """A new training on one of the sets."""
    train, keys = out / "data" / name, ["--config", CONFIG, "--refit", "none"]
    files = {"training": train / "train", "val": data / "valid", "test": data / "test"}
    for key, path in files.items():
        keys += [f"--{key}_file", f"{path}.txt"]
        keys += [] if key == "test" else [f"--evidence.{key}_file", f"{path}_evidence.tsv"]
    return trained(out, name, "libmultilabel", *keys)


def measured(folder: Path, data: Path, documents: int) -> Row:
    """Of a run: MAP over every gold code, in percent, of validation and test, and processor seconds."""
    keys = {"training_file": str(data / "train.txt"), "val_file": str(data / "valid.txt")}
    model, corpus = Predictor.load(folder, device="cpu"), load_corpus(load_config(CONFIG, keys))
    assert corpus.val is not None
    outside = labels_outside(corpus.val.labels, model.labels)
    evaluator = Evaluator(len(model.labels), metrics=["MAP-gold"], outside=outside)
    evaluator.update(model.logits(corpus.val.texts), corpus.with_labels(model.labels).label_matrix(corpus.val))
    told = read_result(folder / "result.json")
    return {
        "documents": documents,
        "validation": round(100 * evaluator.compute()["MAP-gold"], 2),
        "test": round(100 * told["metrics"]["MAP-gold"], 2),
        "cpu_s": round(told["cpu_s"]["total"] - told["cpu_s"].get("test", 0.0), 1),
    }


def page(found: dict[str, Row]) -> str:
    everything, last = found["new, all"], list(found.values())[-2]
    lines = [
        "# Learning from the desk", "",
        "PLANT on half of CodiEsp's training documents (Spanish diagnoses), to which the other half comes in five",
        "parts; `plant train --from` goes on after each. MAP over every gold code, percent; processor seconds without",
        f"those of the test; one seed; {processor_name()}, one thread.",
        "Written by `python benchmarks/teach.py DATA OUT --write`.", "",
        "| training | documents | MAP validation | MAP test | CPU s | of a new training |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for name, row in found.items():
        share = row["cpu_s"] / everything["cpu_s"]
        scores = f"{row['validation']:.1f} | {row['test']:.1f}"
        lines.append(f"| {name} | {row['documents']} | {scores} | {row['cpu_s']:.0f} | {share:.2f} |")
    behind = everything["test"] - last["test"]
    most = max(row["cpu_s"] for name, row in found.items() if name.startswith("part")) / everything["cpu_s"]
    lines += [
        "",
        f"One point of MAP behind training on all at most: {'' if behind <= 1 else 'not '}reached ({behind:.1f}).",
        f"A tenth of the time of a new training at most: {'' if most <= 0.1 else 'not '}reached ({most:.2f}).",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    data, out = map(Path, sys.argv[1:3])
    divide(data, out)
    sizes = {
        name: len((out / "data" / name / "train.txt").read_text().splitlines()) for name in ("half", "all", "part1")
    }
    folder = anew(data, out, "half")
    found = {"new, half": measured(folder, data, sizes["half"])}
    for part in range(1, PARTS + 1):
        text = str(out / "data" / f"part{part}" / "train.txt")
        folder = trained(out, f"p{part}", "plant", "train", "--from", str(folder), text)
        found[f"part {part}"] = measured(folder, data, sizes["half"] + part * sizes["part1"])
    found["new, all"] = measured(anew(data, out, "all"), data, sizes["all"])
    told = page(found)
    print(told)
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        TABLE.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
