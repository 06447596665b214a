"""What is printed after a run: six numbers, and where the others are."""

from __future__ import annotations

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from plant_plugin.report.result import Result
from plant_plugin.report.tables import heading, percent

SIX = ("MAP-gold", "P@1", "P@5", "nDCG@5", "Micro-F1@micro", "Macro-F1@macro")


def print_summary(result: Result, *, console: Console | None = None) -> None:
    """Print six numbers of a result, those that it has, on the standard output or on ``console``."""
    metrics, counts = result.get("metrics", {}), result.get("counts", {})
    shown = [name for name in SIX if name in metrics] or list(metrics)[: len(SIX)]
    table = Table(*shown, box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_row(*(percent(metrics[name]) for name in shown))
    sizes = ", ".join(f"{counts[key]:,} {key}" for key in ("documents", "labels") if key in counts)
    seconds = result.get("time_s", {}).get("total")
    took = f", {seconds:,.0f} s" if seconds else ""
    last = f"{sizes}{took}. All {len(metrics)} numbers: result.json of the run's folder, or --all"
    (console or Console()).print(Group(Text(heading(result), style="bold"), table, Text(last)), markup=False)
