"""What a comparison of several systems is written as: one table with tests and cost, and curves beside it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.files import atomic_write, write_text
from plant_plugin.report.compare import Table, compare
from plant_plugin.report.curves import svg_of_curves
from plant_plugin.report.formats import header, markdown, markdown_rows, rows
from plant_plugin.report.result import Result
from plant_plugin.report.spreadsheets import no_formula
from plant_plugin.report.systems import System

COST = ("minutes in all", "processor minutes", "memory, MB")  # of one run, mean over seeds
CURVES = "curves.svg"
METRICS = ("MAP-gold", "P@1", "P@5", "nDCG@5", "Micro-F1@micro", "Macro-F1@macro", "Macro-F1-present@macro")


def write_bench(
    out: Path, systems: Sequence[System], baseline: str, runs: Mapping[str, Sequence[Path]], failed: Mapping[str, str]
) -> tuple[str, list[Path]]:
    """Write ``table.md``, ``table.csv`` and, where networks were trained, ``curves.svg`` to a folder.

    Args:
        out: The folder.
        systems: Those that have a result; the first one takes the place of a baseline that has none.
        baseline: What the others are tested against.
        runs: Folders of their runs, by system.
        failed: Why other runs have no result.

    Returns:
        The table in Markdown, and the files written.
    """
    names = [system.name for system in systems]
    table = compare(systems, baseline if baseline in names else names[0], columns=METRICS)
    if same := [system.name for system in systems if system.without_chance]:
        table.notes.append(f"{', '.join(same)}: nothing is drawn at random, so one run is that of every seed")
    table.notes += [f"{name}: no result: {' '.join(reason.split())}" for name, reason in failed.items()]
    costs = {system.name: [*_cost(system.results)] for system in systems}
    written = [out / "table.md", out / "table.csv"]
    try:
        with atomic_write(out / CURVES) as temporary:
            temporary.write_bytes(svg_of_curves(runs))
        written.append(out / CURVES)
    except (DataError, MissingExtraError) as error:
        (out / CURVES).unlink(missing_ok=True)  # of other systems
        table.notes.append(f"no learning curves: {error.what}")
    body = [[name, *(f"{value:,.2f}" for value in costs[name])] for name in table.systems]
    lines = ["", "Cost of one run, with its tests:", "", *markdown_rows(["system", *COST], body)]
    if written[-1].name == CURVES:
        lines += ["", f"![Learning curves]({CURVES})"]
    text = markdown(table) + "\n".join(lines) + "\n"
    write_text(out / "table.md", text)
    write_text(out / "table.csv", _as_csv(table, costs))
    return text, written


def _cost(results: Sequence[Result]) -> tuple[float, ...]:
    clocks = [each.get("time_s", {}) for each in results], [each.get("cpu_s", {}) for each in results]
    memory = [each.get("peak_memory_mb") for each in results]
    # without the `total`, in which the system counts what the process that started the run held
    peaks = [_largest(each) if isinstance(each, dict) else each or 0.0 for each in memory]
    minutes = (statistics.fmean(of_run.get("total", 0.0) for of_run in clock) / 60 for clock in clocks)
    return *minutes, statistics.fmean(peaks)


def _largest(phases: Mapping[str, float]) -> float:
    return max((peak for phase, peak in phases.items() if phase != "total"), default=0.0)


def _as_csv(table: Table, costs: Mapping[str, Sequence[float]]) -> str:
    import pandas as pd

    cells = rows(table, ("", ""), no_formula)
    body = [[*row, *(round(value, 2) for value in costs[name])] for name, row in zip(table.systems, cells, strict=True)]
    return pd.DataFrame(body, columns=[*header(table), *COST]).to_csv(index=False)
