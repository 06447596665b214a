"""A desk of 10,000 documents and 200,000 decisions: how long the next document, a decision and an export take.

    python benchmarks/speed/desk.py [--write]

Documents are made up, of 300 words each; ten coders, half of the documents finished by one of them. Every time is that
of a call of the store, on this machine's disk; ``--write`` writes ``benchmarks/tables/desk.md``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sqlalchemy import insert

from plant_plugin.report.machine import processor_name, usable_cores
from plant_plugin.serving.desk.backups import backup
from plant_plugin.serving.desk.export import export
from plant_plugin.serving.desk.figures import figures, figures_apart
from plant_plugin.serving.desk.store import Decision, Desk
from plant_plugin.serving.desk.tables import changes, documents, suggestions, work

DOCUMENTS, DECISIONS, CODERS, LABELS, WORDS, TRIES, REPEATS = 10_000, 200_000, 10, 5_000, 300, 200, 3
MODEL = "made-up"
TABLE = Path(__file__).resolve().parents[1] / "tables" / "desk.md"
BARS = {"next document": "100 ms", "next document beside figures": "100 ms", "export": "10 s"}


def fill(desk: Desk) -> None:
    """Documents with 20 suggestions each, and 40 decisions on each of the first half."""
    random, finished = np.random.default_rng(0), DOCUMENTS // 2
    for number in range(CODERS):
        desk.people.add(f"coder{number}")
    words = [f"word{number}" for number in range(20_000)]
    desk.add_documents(
        (str(number), " ".join(words[place] for place in random.integers(len(words), size=WORDS)))
        for number in range(DOCUMENTS)
    )
    labels = [sorted(random.choice(LABELS, 40, replace=False).tolist()) for _ in range(finished)]
    at, each = time.time() - 1e6, DECISIONS // finished
    told = json.dumps(
        [{"label": f"L{n}", "probability": 0.5, "predicted": n < 10, "spans": [[0, 5]]} for n in range(20)]
    )
    rows = [
        {"coder": one % CODERS + 1, "document": one + 1, "key": f"{one} {place}", "at": at + one, "kind": kind,
         "label": f"L{labels[one][place]}" if kind != "done" else None,
         "spans": json.dumps([[5 * place, 5 * place + 4]]) if kind != "done" else None}
        for one in range(finished)
        for place, kind in enumerate([*["accept" if place % 3 else "reject" for place in range(each)], "done"])
    ]  # fmt: skip
    with desk.writes.begin() as connection:
        connection.execute(insert(changes), rows)
        connection.execute(
            insert(suggestions), [{"document": one + 1, "model": MODEL, "labels": told} for one in range(DOCUMENTS)]
        )
        entropies = random.random(DOCUMENTS).tolist()
        for one, entropy in enumerate(entropies):
            connection.execute(documents.update().where(documents.c.id == one + 1).values(uncertainty=entropy))
        begun = [
            {"document": one + 1, "coder": one % CODERS + 1, "model": MODEL, "until": 0.0, "finished": 1}
            for one in range(finished)
        ]
        connection.execute(insert(work), begun)


def timed(act: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - wall, time.process_time() - processor


def measure(desk: Desk, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Times of each act."""
    who = desk.people.all()
    found: dict[str, list[tuple[float, float]]] = {"next document": [], "decision": []}
    for turn in range(TRIES):
        coder, order = who[turn % CODERS], ("uncertainty", "date", "sent")[turn % 3]

        def go_on(coder=coder, order=order):  # type: ignore[no-untyped-def]
            document = desk.next(coder, order, MODEL)
            return desk.left(coder), desk.opened(coder, document, MODEL)

        found["next document"].append(timed(go_on))
        document = desk.next(coder, order, MODEL)
        decision = Decision("L1", "accept", [(0, 5)])
        found["decision"].append(timed(lambda: desk.decide(coder, f"speed-{turn}-key", document, decision)))  # noqa: B023
        desk.finish(coder, f"speed-{turn}-done", document)
    with ThreadPoolExecutor(1) as beside:  # as in the server
        counting, found["next document beside figures"] = beside.submit(figures_apart, desk.path), []
        while not counting.done():
            found["next document beside figures"].append(timed(go_on))
    found["export"] = [timed(lambda: export(desk, folder / "out")) for _ in range(REPEATS)]
    found["figures"] = [timed(lambda: figures(desk)) for _ in range(REPEATS)]
    found["backup"] = [timed(lambda: backup(desk.path, folder / "backup.sqlite")) for _ in range(REPEATS)]
    return found


def page(found: dict[str, list[tuple[float, float]]]) -> str:
    lines = [
        "# The desk at size", "",
        f"{DOCUMENTS:,} documents of {WORDS} words, {DECISIONS:,} decisions, {CODERS} coders;",
        f"{processor_name()}, one thread; {os.getloadavg()[1]:.1f} programs on {usable_cores()} cores meanwhile,",
        "which the clock counts and the processor does not. Written by `python benchmarks/speed/desk.py --write`.", "",
        "| act | times | best by the clock | median | slowest | median of the processor | bar |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for name, times in found.items():
        wall, processor = zip(*times, strict=True)
        told = [min(wall), statistics.median(wall), max(wall), statistics.median(processor)]
        shown = [f"{1000 * value:.1f} ms" if value < 1 else f"{value:.1f} s" for value in told]
        lines.append(f"| {name} | {len(times)} | {' | '.join(shown)} | {BARS.get(name, '–')} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        desk = Desk(folder / "desk.sqlite", make=True)
        fill(desk)
        told = page(measure(desk, folder))
        desk.close()
    print(told)
    if "--write" in sys.argv:
        TABLE.write_text(told, encoding="utf-8")


if __name__ == "__main__":
    main()
