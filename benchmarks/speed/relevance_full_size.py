"""Relevance at the sizes of MIMIC-III and of a tenth of 600,000 documents and 670,000 labels, on made-up corpora.

    python benchmarks/speed/relevance_full_size.py

Words and labels follow Zipf's law. Each case runs in a process of its own; its memory is the highest anonymous memory
above where the process stood with the corpus, looked at every 50 ms. Writes ``benchmarks/tables/relevance.md``.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from test_relevance import corpus

TABLE = Path(__file__).resolve().parents[1] / "tables" / "relevance.md"
WHOLE = 600_000, 670_000  # documents and labels of the last row, which is worked out


@dataclass(frozen=True)
class Case:
    """A corpus: documents of ``length`` different tokens at most."""

    name: str
    documents: int
    length: int
    types: int
    labels: int
    per_document: int


def part(share: int) -> Case:
    """Documents and labels divided alike."""
    documents, labels = (number // share for number in WHOLE)
    return Case(f"1/{share} of the largest", documents, 75, 136_000, labels, 5)


CASES = [Case("MIMIC-III", 52_000, 600, 50_000, 8_900, 14), part(40), part(20), part(10)]


def anonymous() -> float:
    """Anonymous memory of this process in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def measure(case: Case) -> tuple[float, float, int]:
    """Seconds, MiB, and how many values are kept."""
    from plant_plugin.config.options import RelevanceOptions
    from plant_plugin.data.token_arrays import TokenArrays
    from plant_plugin.relevance.mutual_information import compute_relevance

    arrays, truth = corpus(case.documents, case.length, case.types, case.labels, case.per_document)
    few = TokenArrays(arrays.ids[: case.length], arrays.offsets[:2])
    compute_relevance(few, truth[:1], case.types, (0, 1), RelevanceOptions())  # compiled once per machine, then cached
    before, peak, done = anonymous(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, anonymous())

    watching = threading.Thread(target=watch)
    watching.start()
    start = time.perf_counter()
    found = compute_relevance(arrays, truth, case.types, (0, 1), RelevanceOptions())
    took = time.perf_counter() - start
    done.set()
    watching.join()
    return took, max(0.0, peak - before), found.matrix.nnz


def main() -> None:
    """Measure every case in a fresh process, then write the table."""
    rows, seconds = [], []
    for case in CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            took, memory, kept = pool.apply(measure, (case,))
        sizes = f"{case.documents:,} | {case.labels:,} | {case.types:,} | {case.length} | {case.per_document}"
        rows.append(f"| {case.name} | {sizes} | {took:.1f} s | {memory:,.0f} MiB | {kept:,} |")
        seconds.append(took)
        print(rows[-1], file=sys.stderr, flush=True)
    growth = seconds[-1] / seconds[-2]
    whole = seconds[-1] * growth ** math.log2(10)
    text = [
        "# Relevance at full size", "",
        f"Written by `python benchmarks/speed/relevance_full_size.py` on made-up corpora, {os.cpu_count()} cores; "
        "reading is not in it.", "",
        "| corpus | documents | labels | types | tokens a document | labels a document | time | "
        "anonymous memory | values kept |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
        *rows, "",
        f"Twice as much of the largest took {growth:.2f} times as long. All of it, {WHOLE[0]:,} documents and "
        f"{WHOLE[1]:,} labels, would take {whole:.0f} s at that rate and {10 * seconds[-1]:.0f} s in proportion: "
        "worked out, not run.", "",
    ]  # fmt: skip
    TABLE.write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
