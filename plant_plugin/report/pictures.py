"""Pictures of a comparison with matplotlib: gains, and F1 by frequency."""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import needs_extra
from plant_plugin.evaluation import names
from plant_plugin.report.compare import Table
from plant_plugin.report.systems import System

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; markers for print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
MOST_PANELS = 4
STYLE: Any = {"svg.hashsalt": "plant", "svg.fonttype": "path", "font.size": 11}  # the same file every time
HASHED = re.compile(r"\b([mp])[0-9a-f]{10}\b")  # names of markers and clipping paths
PLACES = re.compile(r' (?:d|x|y|width|height)="[^"]*"|translate\([^)]*\)')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def gains_picture(table: Table, metrics: Sequence[str]) -> Figure | None:
    """Draw the gain over the baseline with its interval, a panel for each metric; None where nothing was tested."""
    systems = [name for name in table.systems if any(table.cells[name, metric].test for metric in metrics)]
    if not systems:
        return None
    title = (
        f"{table.title}: points gained or lost against {table.baseline}\n"
        "dot: gain, filled where significant; bar: its 95 % interval"
    )
    figure, columns = panels(title, [(f"{metric}, points", "") for metric in metrics], 1.8 + 0.35 * len(systems))
    for axes, metric in zip(columns, metrics, strict=True):
        for place, name in enumerate(reversed(systems)):
            if (test := table.cells[name, metric].test) is not None:
                gain, low, high = (100 * value for value in (test.gain, test.low, test.high))
                colour = COLOURS[0] if test.gain > 0 else COLOURS[1]
                axes.plot([low, high], [place, place], color=colour)
                axes.plot([gain], [place], "o", color=colour, mfc=colour if test.significant else "white")
        axes.axvline(0, color="#888888", linewidth=1)
        axes.set_yticks(range(len(systems)), list(reversed(systems)) if axes is columns[0] else [""] * len(systems))
        axes.set_ylim(-0.6, len(systems) - 0.4)
    return figure


def frequency_picture(
    systems: Sequence[System],
    *,
    title: str = "F1 of labels by how often the training split has them",
) -> Figure | None:
    """Draw the mean F1 of labels, ± deviation over seeds, by how often the training split has them.

    There is no picture without bins.
    """
    metrics = {label_bin: f"Macro-F1-present@macro:{label_bin}" for label_bin in names.BINS}
    bins = [label_bin for label_bin, metric in metrics.items() if any(system.values(metric) for system in systems)]
    if not bins:
        return None
    figure, (axes,) = panels(title, [("training documents with the label", "mean F1 of labels in the test split (%)")])
    shown: dict[str, ErrorbarContainer] = {}
    for system in systems:
        groups = [(place, values) for place, b in enumerate(bins) if (values := system.values(metrics[b]))]
        if groups:
            points = [(float(place), 100 * statistics.fmean(values)) for place, values in groups]
            deviations = [100 * statistics.stdev(values) if len(values) > 1 else 0.0 for _, values in groups]
            shown[system.name] = draw_line(axes, len(shown), system.name, points, deviations)
    axes.set_xticks(range(len(bins)), bins)
    add_legend(figure, shown)
    return figure


def svg_of_comparison(systems: Sequence[System], table: Table) -> dict[str, bytes]:
    """Return caption -> SVG of the pictures that a comparison allows: gains, F1 by frequency.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figures = {
        "Gain over the baseline. The bar is the 95 % interval of the paired bootstrap.": gains_picture(
            table, table.metrics[:MOST_PANELS]
        ),
        "Mean F1 of the labels of the test split, by how many training documents have them; bars: deviation over "
        "seeds. Thresholds tuned on validation for macro-F1.": frequency_picture(systems),
    }
    return {caption: rendered(figure, "svg") for caption, figure in figures.items() if figure is not None}


def rendered(figure: Figure, kind: str) -> bytes:
    """Return a file of a picture, ``png`` or ``svg``: the same bytes for the same picture, on another processor too."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(stream, format=kind, dpi=150, metadata={"Date" if kind == "svg" else "Software": None})
    return _steady(stream.getvalue().decode()).encode() if kind == "svg" else stream.getvalue()


def _steady(svg: str) -> str:
    """Take out what the last bits of a number change: places to a hundredth of a point, names numbered, not hashed."""
    numbers: dict[str, str] = {}
    svg = HASHED.sub(lambda match: numbers.setdefault(match[0], f"{match[1]}{len(numbers)}"), svg)
    return PLACES.sub(lambda match: LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", match[0]), svg)


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


def draw_line(
    axes: Axes,
    number: int,
    name: str,
    points: Sequence[tuple[float, float]],
    deviations: Sequence[float] | None = None,
    *,
    dashed: bool = False,
) -> ErrorbarContainer:
    """Draw a line through points (x, y), with bars of twice the deviation; its number chooses colour and marker.

    Returns:
        What a legend shows of it.
    """
    return axes.errorbar(
        [x for x, _ in points], [y for _, y in points], yerr=deviations, label=name,
        color=COLOURS[number % len(COLOURS)], capsize=3, linestyle="--" if dashed else "-",
        marker=MARKERS[number % len(MARKERS)], markersize=5, markevery=max(1, len(points) // 12),
    )  # fmt: skip


def add_legend(figure: Figure, shown: Mapping[str, ErrorbarContainer]) -> None:
    """Add a legend below the panels, where there is more than one line."""
    if len(shown) > 1:
        handles: Any = shown.values()  # matplotlib's types know one kind of them only
        figure.legend(handles, shown.keys(), frameon=False, loc="outside lower center", ncols=min(4, len(shown)))
