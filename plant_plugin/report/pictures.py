"""The picture of a comparison with matplotlib: gains with their intervals."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import needs_extra
from plant_plugin.report.compare import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MOST_PANELS = 4
STYLE: Any = {"font.size": 11}


def gains_picture(table: Table, metrics: Sequence[str]) -> Figure | None:
    """Draw the gain over the baseline with its interval, a panel for each metric; None where nothing was tested."""
    systems = [name for name in table.systems if any(table.cells[name, metric].test for metric in metrics)]
    if not systems:
        return None
    title = (
        f"{table.title}: points gained or lost against {table.baseline}\n"
        "dot: gain, filled where better or worse; bar: its 95 % interval"
    )
    figure, columns = panels(title, [(f"{metric}, points", "") for metric in metrics], 1.8 + 0.35 * len(systems))
    for axes, metric in zip(columns, metrics, strict=True):
        for place, name in enumerate(reversed(systems)):
            cell = table.cells[name, metric]
            if (test := cell.test) is not None:
                gain, low, high = (100 * value for value in (test.gain, test.low, test.high))
                colour = COLOURS[0] if test.gain > 0 else COLOURS[1]
                axes.plot([low, high], [place, place], color=colour)
                axes.plot([gain], [place], "o", color=colour, mfc=colour if cell.mark else "white")
        axes.axvline(0, color="#888888", linewidth=1)
        axes.set_yticks(range(len(systems)), list(reversed(systems)) if axes is columns[0] else [""] * len(systems))
        axes.set_ylim(-0.6, len(systems) - 0.4)
    return figure


def svg_of_comparison(table: Table) -> dict[str, bytes]:
    """Return caption -> SVG of the gains, empty where nothing was tested.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = gains_picture(table, table.metrics[:MOST_PANELS])
    if figure is None:
        return {}
    stream = io.BytesIO()
    figure.savefig(stream, format="svg")
    return {"Gain over the baseline. The bar is the 95 % interval over seeds and documents.": stream.getvalue()}


def panels(title: str, labels: Sequence[tuple[str, str]], height: float = 4.5) -> tuple[Figure, list[Axes]]:
    """Make a figure with a panel beside the other for each pair of axis labels, x and y.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("pictures", "pictures need matplotlib, which is not installed"):
        import matplotlib
        from matplotlib.figure import Figure
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(8.0, 4.2 * len(labels)), height), layout="constrained")
        columns = list(figure.subplots(1, max(1, len(labels)), squeeze=False)[0])
    for axes, (x, y) in zip(columns, labels, strict=False):
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    return figure, columns
