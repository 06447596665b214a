"""From pytest-benchmark's record to a table of ratios: ``python benchmarks/speed/table.py RECORD.json``.

Writes ``benchmarks/speed/results.json`` (medians, peak memory, the machine; ``results_gpu.json`` of a record of
``test_on_a_gpu.py`` alone), ``benchmarks/tables/speed.md`` and beside it ``speed_growth.svg``, and prints the table.
Without a record it writes the table anew from the results.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS, ON_GPU, TABLE = HERE / "results.json", HERE / "results_gpu.json", HERE.parent / "tables" / "speed.md"
PICTURE = TABLE.with_name("speed_growth.svg")
OURS = "plant_plugin"


def condense(record: dict[str, Any]) -> dict[str, Any]:
    """Of pytest-benchmark's record what is worth keeping; nothing that names the machine's owner."""
    found = record["machine_info"]
    cpu = found["cpu"]
    machine = {
        "cpu": cpu.get("brand_raw", found["machine"]),
        "cores": cpu.get("count", os.cpu_count()),  # of the machine that measured
        "instructions": [flag for flag in ("avx2", "avx512f", "amx_bf16") if flag in cpu.get("flags", [])],
        **{name: found[name] for name in ("threads", "load", "python_version", "torch")},
    }
    measurements = [
        {**found["extra_info"], "median_s": found["stats"]["median"], "rounds": found["stats"]["rounds"]}
        for found in record["benchmarks"]
    ]
    return {"machine": machine, "measurements": measurements}


def seconds(value: float) -> str:
    """A time in three digits."""
    return f"{value:.3g} s" if value >= 1 else f"{value * 1000:.3g} ms"


def megabytes(value: float | None) -> str:
    """A memory in whole MiB."""
    return "–" if value is None else f"{value:,.0f} MiB"


def quotient(other: float | None, ours: float | None) -> str:
    """How many times ours the other is."""
    return "–" if not other or not ours or max(other, ours) < 1e-6 else f"{other / ours:.1f} ×"


def ratios(measurements: list[dict[str, Any]]) -> list[list[str]]:
    """One row for each case and way: time, memory, and both as multiples of ours."""
    cases: dict[str, dict[str, dict[str, Any]]] = {}
    for found in measurements:
        if not found.get("along"):
            cases.setdefault(found["case"], {})[found["way"]] = found
    body = []
    for case, ways in cases.items():
        ours = ways.get(OURS, {})
        for way, found in ways.items():
            time, memory = found["median_s"], found["peak_mb"]
            other = [quotient(time, ours.get("median_s")), quotient(memory, ours.get("peak_mb"))]
            body.append([case, way, seconds(time), megabytes(memory), *(other if way != OURS else ["", ""])])
    return body


def slope(points: list[tuple[float, float]]) -> str:
    """Slope of the least-squares line through the points on logarithmic axes."""
    logs = [(math.log(size), math.log(value)) for size, value in points if value > 0]
    if len(logs) < 2:
        return "–"
    center = [sum(column) / len(logs) for column in zip(*logs, strict=True)]
    rise = sum((x - center[0]) * (y - center[1]) for x, y in logs)
    return f"{rise / sum((x - center[0]) ** 2 for x, _ in logs):.2f}"


def grown(measurements: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Case and letter of the shape key -> the measurements along it."""
    lines: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for found in measurements:
        if found.get("along"):
            lines.setdefault((found["case"], found["along"]), []).append(found)
    return lines


def growth(measurements: list[dict[str, Any]]) -> list[list[str]]:
    """One row for each case and letter: sizes, times, and the slopes of time and memory."""
    body = []
    for (case, along), found in grown(measurements).items():
        times = [(one["size"], one["median_s"]) for one in found]
        memory = [(one["size"], one["peak_mb"] or 0.0) for one in found]
        shown = ", ".join(f"{size:,}: {seconds(time)}" for size, time in times)
        body.append([case, along, shown, slope(times), slope(memory)])
    return body


def draw(measurements: list[dict[str, Any]], path: Path) -> None:
    """One logarithmic panel for each letter: times of every case along it, with the slope beside its name."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "speed"  # the same results give the same file
    from matplotlib import pyplot
    from matplotlib.ticker import NullFormatter

    lines = grown(measurements)
    letters = sorted({along for _, along in lines})
    if not letters:
        return
    figure, axes = pyplot.subplots(1, len(letters), figsize=(4 * len(letters), 4), squeeze=False, sharey=True)
    for axis, letter in zip(axes[0], letters, strict=True):
        for (case, along), found in lines.items():
            if along == letter:
                points = sorted((one["size"], one["median_s"]) for one in found)
                name = case.partition(":")[0].partition("(")[0].strip()
                axis.loglog(*zip(*points, strict=True), "o-", label=f"{name}\nslope {slope(points)}")
        sizes = sorted({one["size"] for (_, along), found in lines.items() if along == letter for one in found})
        axis.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=7)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(letter)
        axis.legend(fontsize=7)
        axis.grid(which="both", alpha=0.2)
    axes[0][0].set_ylabel("seconds")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def page(results: dict[str, Any]) -> str:
    """The whole table as Markdown, with what was measured on a GPU below it."""

    def rows(header: list[str], body: list[list[str]]) -> list[str]:
        return ["| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *body]]

    machine, found = results["machine"], results["measurements"]
    header, there = ["case", "way", "time", "memory", "time ÷ ours", "memory ÷ ours"], []
    if ON_GPU.is_file():
        on_gpu = json.loads(ON_GPU.read_text(encoding="utf-8"))
        there = [
            f"On a GPU (torch {on_gpu['machine']['torch']}; memory: that of tensors there). Ours is Triton, "
            "which is taken for the ranking loss and for label attention in bf16 and fp16; torch is what is taken "
            "else.", "", *rows(header, ratios(on_gpu["measurements"])), "",
        ]  # fmt: skip
    return "\n".join([
        "# Speed and memory", "",
        "Made by `make speed`; do not edit. Medians. Ways of a case ran one after the other: read the multiples of "
        "ours. Memory: how far one call lifts the process above where it stood.", "",
        f"Machine: {machine['cpu']}, {machine['cores']} cores, {' '.join(machine['instructions'])}; threads: "
        f"{machine['threads']}; load {machine['load']}; Python {machine['python_version']}, "
        f"torch {machine['torch']}.", "",
        *rows(header, ratios(found)), "",
        "Growth of ours, slope on logarithmic axes (1: proportional; picture: speed_growth.svg):", "",
        *rows(["case", "along", "times", "slope of time", "slope of memory"], growth(found)), "", *there,
    ])  # fmt: skip


def main() -> int:
    """Condense the record where one is given; write and print the table."""
    if len(sys.argv) > 1:
        record = json.loads(Path(sys.argv[1]).read_text())
        on_gpu = all("test_on_a_gpu.py" in one["fullname"] for one in record["benchmarks"])
        target = ON_GPU if on_gpu else RESULTS
        target.write_text(json.dumps(condense(record), indent=1, ensure_ascii=False))
    results = json.loads(RESULTS.read_text())
    draw(results["measurements"], PICTURE)
    text = page(results)
    TABLE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
