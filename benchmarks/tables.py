"""Write ``benchmarks/tables/<data set>.md`` from ``benchmarks/results``.

    python benchmarks/tables.py            # write
    python benchmarks/tables.py --check    # exit 1 where a table and its results disagree; pictures are not compared

Numbers are percent: mean ± standard deviation over seeds, or the one number there is. Thresholds of F1 are tuned on
validation (``@micro`` for micro-F1, ``@macro`` for macro-F1). Where per-document values lie beside the results
(``seed1.npz`` beside ``seed1.json``) the tests of ``plant compare`` are in the table.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from plant_plugin.report.compare import compare
from plant_plugin.report.formats import GAINS, explanation, gains, markdown_rows
from plant_plugin.report.pictures import frequency_picture, save_picture
from plant_plugin.report.systems import load_systems

HERE = Path(__file__).resolve().parent
METRICS = ("P@1", "P@5", "PSP@5", "nDCG@5", "Micro-F1@micro", "Macro-F1@macro", "Macro-F1-present@macro",
           "Macro-F1-caml@macro")  # fmt: skip
BINS = ("0", "1-5", "6-10", "11-50", "51-100", "101-500", ">500")
BASELINE = "linear"
ORDER = ("plant", "end_to_end", "bigru_lwan", "caml", "linear")


def load(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Results of a data set by system, each a list over seeds."""
    found = {
        system.name: [json.loads(path.read_text()) for path in sorted(system.glob("seed*.json"))]
        for system in folder.iterdir()
        if system.is_dir()
    }
    place = {name: number for number, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda pair: (place.get(pair[0], len(ORDER)), pair[0])))


def cell(values: list[float | None], scale: float = 100.0, digits: int = 1) -> str:
    """Mean ± deviation of the numbers that are there."""
    numbers = [scale * value for value in values if value is not None]
    if not numbers:
        return "–"
    mean = f"{statistics.fmean(numbers):.{digits}f}"
    return mean if len(numbers) == 1 else f"{mean} ± {statistics.stdev(numbers):.{digits}f}"


def peak(result: dict[str, Any]) -> float | None:
    """Peak memory of the run in MB."""
    memory = result["peak_memory_mb"]
    return memory.get("total") if isinstance(memory, dict) else memory


def table(dataset: str, results: dict[str, list[dict[str, Any]]]) -> str:
    """The page of a data set."""
    main, bins = [], []
    for system, runs in results.items():
        metrics = [run["metrics"] for run in runs]
        seconds, memory = [run["time_s"]["total"] for run in runs], [peak(run) for run in runs]
        main.append([
            system, str(len(runs)), str(runs[0]["counts"]["labels"]),
            *(cell([found.get(name) for found in metrics]) for name in METRICS),
            cell(seconds, 1 / 60), cell(memory, 1 / 1024),
        ])  # fmt: skip
        bins.append([system, *(cell([found.get(f"Macro-F1@macro:{name}") for found in metrics]) for name in BINS)])
    first = next(iter(results.values()))[0]
    counts = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in sorted(first["counts"].items()))
    lines = [
        f"# {dataset}", "",
        "Made by `python benchmarks/tables.py` from `benchmarks/results`; do not edit.", "",
        "Test split, percent. Thresholds tuned on validation. Time: whole run in minutes on the machine named in "
        "`benchmarks/README.md`; memory: peak resident GiB. "
        "L: labels that the system knows; Macro-F1 over all labels is a mean over L, so compare systems of another L "
        "by Macro-F1-present, whose labels are those of the test split that the system knows.", "",
        *markdown_rows(["system", "seeds", "L", *METRICS, "minutes", "GiB"], main), "",
        "Macro-F1@macro by number of training documents of a label:", "",
        *markdown_rows(["system", *BINS], bins), "",
        *against_baseline(dataset),
        f"Counts ({next(iter(results))}, first seed): {counts}.", "",
    ]  # fmt: skip
    return "\n".join(lines)


def against_baseline(dataset: str) -> list[str]:
    """What the paired tests of ``plant compare`` say, for the systems whose per-document values are beside them."""
    systems = load_systems([str(path) for path in sorted((HERE / "results" / dataset).iterdir()) if path.is_dir()])
    kept = [system for system in systems if system.documents]
    if BASELINE not in {system.name for system in kept} or len(kept) < 2:
        return []
    found = compare(kept, BASELINE, metrics=[name for name in METRICS if any(s.values(name) for s in kept)])
    lines = ["", f"Gain over {BASELINE}, in points, where per-document values were kept. {explanation(found)}", ""]
    notes = [f"- {note}." for note in found.notes]
    return [*lines, *markdown_rows(list(GAINS), [list(row) for row in gains(found)]), "", *notes, ""]


def main() -> int:
    """Write or check every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = []
    for folder in sorted(path for path in (HERE / "results").glob("*") if path.is_dir()):
        path, text = HERE / "tables" / f"{folder.name}.md", table(folder.name, load(folder))
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if figure := frequency_picture(load_systems([str(system) for system in sorted(folder.iterdir())])):
                save_picture(figure, path.with_name(f"{folder.name}_frequency"))
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"out of date: {', '.join(stale)}; run python benchmarks/tables.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
