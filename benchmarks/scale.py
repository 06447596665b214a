"""What every step of a run costs as labels and documents grow, on made-up sets under Zipf's law.

    python benchmarks/scale.py 10000x2000 10000x8000     # documents x labels; adds a line each to tables/scale.jsonl
    python benchmarks/scale.py                           # tables/scale.jsonl -> tables/scale.md, its picture

Each size is one run of ``libmultilabel`` in a process of its own, with ``plant_yso.yml`` made small: planted scores
label by label, a hundred labels a document, one short epoch of each stage. Processor seconds and peak memory are those
that the run notes phase by phase in its ``result.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pictures import Line, line_picture, save_picture
from scipy import sparse
from scipy.optimize import nnls

from plant_plugin import Predictor
from plant_plugin.config.methods import read_configuration
from plant_plugin.relevance.pruned_index import PRUNED_ABOVE, PrunedIndex
from plant_plugin.report.formats import markdown_rows

TABLES = Path(__file__).resolve().parent / "tables"
CALL = "from plant_plugin.cli import libmultilabel; libmultilabel()"
LABELS, OWN, SHARE = 5, 3, 0.3  # labels of a document, words of a label's own, share of a document's words from these
VOCABULARY = 30_000
BATCHES = 32  # of 32 documents, an epoch of either stage
TOP = 600  # weights of a label: 2,000 of 670,000 labels are 10 GiB
HELD = 512  # validation documents, and as many for the test
PHASES = ("read", "tokens", "planted_scores", "shortlist", "relevance", "stage1", "stage2", "thresholds", "test")
STEPS = (*PHASES, "total")  # of the whole run
FIXED = ("thresholds", "test")  # the same whatever N is
NO_LABELS = ("read", "tokens")  # the same whatever L is
DRAWN_ON = ((500_000, 670_000), (100_000_000, 3_000_000))  # documents and labels
SIZE = ("documents", "labels", "trained")
SECTIONS: dict[str, Callable[[dict[str, Any]], dict[str, float]]] = {
    "Processor seconds": lambda one: {name: one["cpu_s"][name] for name in STEPS},
    "Peak memory in MiB": lambda one: {name: one["peak_memory_mb"][name] for name in STEPS},
    "Of a test document": lambda one: {"CPU ms to predict": one["predict_ms"],
                                       "CPU ms in the run's test": 1000 * one["cpu_s"]["test"] / one["held"],
                                       "peak MiB to predict": one["predict_mb"],
                                       "run folder, MiB": one["run_mb"], "P@1, percent": 100 * one["P@1"]},
}  # fmt: skip
TOLD = """Written by `python benchmarks/scale.py` on made-up sets under Zipf's law: {words} words and at most {most}
labels a document, one thread of {processor}. Stages are one epoch on `trained` documents and a validation; `test`
scores {held} documents and takes metrics, to predict is five labels of each by `Predictor`, in a process of its own.
Memory is the highest of the process in a phase, with what earlier ones keep. CPU seconds are of the process and its
threads. {top} weights a label are kept of planted scores. Of more than {above:,} labels those of a document are
looked up in a pruned index; of fewer there is a dense row of all. A slope is of a straight line through logarithms."""
FITTED = """CPU seconds of one thread = a + b·N + c·L, fitted with factors not below 0 to all sizes. N of a stage are
the documents of its sample, so that its hours are an epoch of all; it is left out where all samples are of one size.
The documents of thresholds and test stay as many."""
ALONG = {"labels": "documents", "documents": "labels"}  # what grows: what stays


def draw(random: np.random.Generator, sums: np.ndarray, count: int) -> np.ndarray:
    return np.searchsorted(sums, random.random(count) * sums[-1])


def lines(documents: int, labels: int, words: int, random: np.random.Generator, every_label: bool) -> Iterator[str]:
    """Documents as LibMultiLabel's text: labels and words by Zipf's law; ``every_label`` deals each label out once."""
    popular, frequent = (np.cumsum(1 / np.arange(1, size + 1)) for size in (labels, VOCABULARY))
    own = np.random.default_rng(labels).integers(0, VOCABULARY, (labels, OWN))
    slots = draw(random, popular, documents * LABELS)
    if every_label:
        slots[random.permutation(len(slots))[:labels]] = np.arange(labels)
    for row in slots.reshape(documents, LABELS):
        text = draw(random, frequent, words)
        told = random.random(words) < SHARE
        text[told] = random.choice(own[row].ravel(), told.sum())
        names = " ".join(f"L{label}" for label in sorted(set(row.tolist())))
        yield f"{names}\t{' '.join(f'w{word}' for word in text)}"


def configuration(folder: Path, batches: int) -> Path:
    content = read_configuration("plant_yso.yml")[0]
    del content["val_size"]
    for key, name in (("training_file", "train"), ("val_file", "valid"), ("test_file", "test")):
        content[key] = str(folder / f"{name}.txt")
    content |= {"data_name": "zipf", "cpu": True, "limit_train_batches": batches, "cache_dir": str(folder / "cache")}
    content["network_config"] |= {"hidden_size": 32, "embed_dim": 32, "pool_size": 32, "filter_sizes": [3]}
    content["shortlist"]["rows"] = "touched"
    content["stage2"]["epochs"] = 1
    content["planted_scores"] = {"model": "label_ridge", "names": "none", "top": TOP}
    path = folder / "plant_zipf.yml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def measure(documents: int, labels: int, words: int, batches: int = BATCHES, held: int = HELD) -> dict[str, Any]:
    """Processor seconds and peak memory of every phase of a run on a set of this size."""
    if labels > documents * LABELS:
        raise SystemExit(f"{documents}x{labels}: {labels:,} labels do not fit into {documents:,} documents of {LABELS}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        random = np.random.default_rng(1)
        for split, count in (("train", documents), ("valid", held), ("test", held)):
            with (folder / f"{split}.txt").open("w", encoding="utf-8") as stream:
                stream.writelines(f"{line}\n" for line in lines(count, labels, words, random, split == "train"))
        run = folder / "runs"
        command = [sys.executable, "-c", CALL, "--config", str(configuration(folder, batches)), "--silent"]
        one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*command, "--result_dir", str(run)], env=one_thread, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode:
            raise SystemExit(f"{documents}x{labels}: the run failed, see above")
        (path,) = run.glob("*/result.json")
        told = [sys.executable, __file__, "--predict", str(path.parent), str(folder / "test.txt")]
        found = subprocess.run(told, env=one_thread, stdout=subprocess.PIPE, check=True)
        result = json.loads(path.read_text(encoding="utf-8"))
        weight = sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file()) / 2**20
    return {
        "documents": documents, "labels": result["counts"]["labels"], "words": words,
        "trained": min(documents, batches * 32), "held": held, "run_mb": round(weight, 1), **json.loads(found.stdout),
        "P@1": round(result["metrics"]["P@1"], 4), "processor": result["processor"]["name"],
        "cpu_s": result["cpu_s"], "peak_memory_mb": result["peak_memory_mb"],
    }  # fmt: skip


def predicted(folder: Path, file: Path) -> dict[str, float]:
    """Processor milliseconds a document, and this process's peak memory, of five labels for each document of a file."""
    texts = [line.split("\t")[1] for line in file.read_text(encoding="utf-8").splitlines()]
    predictor = Predictor.load(folder, device="cpu")
    predictor.predict(texts[:64], top=5)
    start = time.process_time()
    predictor.predict(texts, top=5)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"predict_ms": round(1000 * seconds / len(texts), 3), "predict_mb": round(peak, 1)}


def grown(found: list[dict[str, Any]], along: str) -> list[dict[str, Any]]:
    """The measurements where only ``along`` differs: at the size of the other that has most of them, ascending."""
    others = [(one[ALONG[along]], one["trained"]) for one in found]
    at = max(others, key=others.count)
    return sorted((one for one, other in zip(found, others, strict=True) if other == at), key=lambda one: one[along])


def slope(points: list[tuple[float, float]]) -> float:
    """Of a straight line through points on logarithmic axes, by least squares; 1 is proportional."""
    if len({x for x, _ in points}) < 2 or any(y <= 0 for _, y in points):
        return math.nan
    return float(np.polyfit(*np.log(np.array(points)).T, 1)[0])


def formula(found: list[dict[str, Any]], phase: str) -> np.ndarray:
    """The (3,) factors, none below 0, of 1, N and L in CPU seconds, by least squares of relative errors."""
    may = np.array([True, phase not in FIXED, phase not in NO_LABELS])
    counted = "trained" if phase.startswith("stage") else "documents"
    sizes = np.array([(1, one[counted], one["labels"]) for one in found])
    parts = sizes * may / (np.array([one["cpu_s"][phase] for one in found])[:, None] + 1e-3)
    scale = parts.max(axis=0) + ~may
    return nnls(parts / scale, np.ones(len(parts)))[0] * may / scale


def drawn_on(found: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Of each step the factors of its formula, and what it says of sizes that were not run."""
    for phase in PHASES:
        if phase.startswith("stage") and len({one["trained"] for one in found}) == 1:
            continue
        factors = formula(found, phase)
        seconds = [factors @ [1, n, labels] for n, labels in DRAWN_ON]
        told = [f"{one / 3600:,.2g} h" for one in seconds]
        if phase == "test":
            told = [f"{1000 * one / found[-1]['held']:,.0f} ms a document" for one in seconds]
        yield [phase, *(f"{factor:.2g}" for factor in factors), *told]


def page(found: list[dict[str, Any]]) -> str:
    """The page: every measurement, the growth along labels and documents, and what is drawn on."""
    text = [
        "# Growth with labels and documents",
        "",
        TOLD.format(**found[-1], most=LABELS, top=TOP, above=PRUNED_ABOVE),
    ]
    large = [one for one in found if one["labels"] > PRUNED_ABOVE] or found
    for title, values in SECTIONS.items():
        names = list(values(found[0]))
        rows = [[*(f"{one[key]:,}" for key in SIZE), *(f"{values(one)[name]:,.2f}" for name in names)] for one in found]
        lines = [
            (along, f"at {points[0][other]:,} {other}", points)
            for along, other in ALONG.items()
            if (points := grown(found, along))
        ]
        if title == "Of a test document":
            lines += [("labels", "of all sizes", found), ("labels", f"above {PRUNED_ABOVE:,} labels", large)]
        for along, sizes, points in lines:
            slopes = [slope([(one[along], values(one)[name]) for one in points]) for name in names]
            told = ["–" if math.isnan(value) else f"{round(value, 2) + 0.0:.2f}" for value in slopes]  # no -0.00
            rows.append([f"slope along {along}", sizes, "", *told])
        text += ["", f"## {title}", "", *markdown_rows([*SIZE, *names], rows)]
    drawn = [f"N = {n:,}, L = {labels:,}" for n, labels in DRAWN_ON]
    text += ["", "## Drawn on, not run", "", FITTED, "", *markdown_rows(["step", *"abc", *drawn], drawn_on(found))]
    return "\n".join([*text, "", "![growth](scale_growth.png)", ""])


def picture(found: list[dict[str, Any]], stem: Path) -> None:
    """Processor seconds along labels and along documents, both axes logarithmic."""
    drawn: dict[str, dict[str, Line]] = {}
    for along in ALONG:
        points = grown(found, along)
        lines_of = drawn.setdefault(f"CPU s, as {along} grow", {})
        for phase in PHASES[2:]:
            lines_of[phase] = Line([(one[along], one["cpu_s"][phase]) for one in points])
    each = sorted((one["labels"], one["predict_ms"]) for one in found)
    drawn["CPU ms to predict a document, all sizes"] = {
        "measured": Line(each),
        "growth of √L": Line([(labels, each[0][1] * math.sqrt(labels / each[0][0])) for labels, _ in each]),
    }
    figure = line_picture(drawn, title="What each step costs", x="", logarithmic=True)
    for axes, along in zip(figure.axes, [*ALONG, "labels"], strict=True):
        axes.set(yscale="log", xlabel=along)
    save_picture(figure, stem.with_suffix(".png"))


def main(arguments: list[str] | None = None, tables: Path = TABLES) -> None:
    """Measure the sizes that are asked for, one after the other, then write the page anew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", metavar="DOCUMENTSxLABELS")
    parser.add_argument("--words", type=int, default=60)
    parser.add_argument("--batches", type=int, default=BATCHES, help="of 32 documents, an epoch of either stage")
    parser.add_argument("--predict", nargs=2, type=Path, metavar=("RUN", "FILE"), help="measure a model's prediction")
    chosen = parser.parse_args(arguments)
    if chosen.predict:
        print(json.dumps(predicted(*chosen.predict)))
        return
    record = tables / "scale.jsonl"
    if chosen.sizes:
        measure(200, 50, chosen.words, 2, 64)  # what is compiled once a machine is compiled here
        pair = sparse.csr_array(np.eye(2, dtype=np.float32))
        PrunedIndex.of(pair).candidates(pair, pair, 1)
    for size in chosen.sizes:
        documents, labels = (int(number) for number in size.split("x"))
        measured = measure(documents, labels, chosen.words, chosen.batches)
        with record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(measured) + "\n")
        print(size, measured["cpu_s"], measured["peak_memory_mb"], file=sys.stderr, flush=True)
    found = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    last = {(one["documents"], one["labels"], one["trained"]): one for one in found}  # of a size measured twice
    found = [last[size] for size in sorted(last)]
    (tables / "scale.md").write_text(page(found), encoding="utf-8")
    picture(found, tables / "scale_growth")


if __name__ == "__main__":
    main()
