"""Pictures of experiments: lines, violins, learning curves and F1 by frequency."""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import DataError
from plant_plugin.evaluation import names
from plant_plugin.files import atomic_write
from plant_plugin.report.pictures import COLOURS, STYLE, panels
from plant_plugin.report.systems import System

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import ErrorbarContainer
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"  # for print without colour
MANY = 5  # more names than this do not fit beside each other
STEADY: Any = {**STYLE, "svg.hashsalt": "plant", "svg.fonttype": "path"}  # the same file every time
HASHED = re.compile(r"\b([mp])[0-9a-f]{10}\b")  # names of markers and clipping paths
PLACES = re.compile(r' (?:d|x|y|width|height)="[^"]*"|translate\([^)]*\)')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


@dataclass(frozen=True)
class Line:
    """A line of a picture.

    Attributes:
        points: (x, y).
        deviations: Half the height of a bar at each point, or None.
        colour: Lines of one number look alike; None: the line's own place.
        dashed: For what is there to compare with.
    """

    points: Sequence[tuple[float, float]]
    deviations: Sequence[float] | None = None
    colour: int | None = None
    dashed: bool = False


def line_picture(
    lines_of: Mapping[str, Mapping[str, Line]],
    *,
    title: str,
    x: str,
    x_names: Sequence[str] | None = None,
    logarithmic: bool = False,
) -> Figure:
    """Lines with a marker at each point, a panel for each quantity, all over the same horizontal axis.

    Args:
        lines_of: Label of the vertical axis, with its unit -> name in the legend -> line.
        title: What the reader sees here.
        x: Label of the horizontal axis, with its unit.
        x_names: Words for x = 0, 1, … where the axis holds no numbers.
        logarithmic: Whether the horizontal axis is; its ticks are the points.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, columns = panels(title, [(x, y) for y in lines_of])
    shown: dict[str, Any] = {}
    for axes, lines in zip(columns, lines_of.values(), strict=True):
        for place, (name, line) in enumerate(lines.items()):
            number = place if line.colour is None else line.colour
            shown.setdefault(name, draw_line(axes, number, name, line.points, line.deviations, dashed=line.dashed))
        if x_names is not None:
            axes.set_xticks(range(len(x_names)), x_names)
        elif logarithmic:
            ticks = sorted({point[0] for line in lines.values() for point in line.points})
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in ticks], minor=False)
            axes.set_xticks([], minor=True)
        else:
            axes.locator_params(axis="x", integer=True)
    add_legend(figure, shown)
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


def violin_picture(groups: Mapping[str, Sequence[float]], *, title: str, x: str, y: str) -> Figure:
    """The distribution of values in each group, with its mean and a count.

    Args:
        groups: Name below the violin -> values; a group of one value is a dot, an empty one only its name.
        title: What the reader sees here.
        x: Label of the horizontal axis.
        y: Label of the vertical axis, with its unit.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, (axes,) = panels(title, [(x, y)])
    for place, values in enumerate(groups.values()):
        colour = COLOURS[place % len(COLOURS)]
        if len(set(values)) > 1:
            body: Any = axes.violinplot([list(values)], [place], widths=0.8, showextrema=False)["bodies"]
            for part in body:
                part.set_facecolor(colour)
                part.set_alpha(0.5)
        if len(values):
            mean = statistics.fmean(values)
            mean_text = f"{mean:.1f}" if abs(mean) >= 1 else f"{mean:.2f}"
            axes.plot([place], [mean], marker="o", color=colour, markeredgecolor="white")
            axes.annotate(f"mean {mean_text}", (place, mean), (8, 4), textcoords="offset points", fontsize=9)
    names_below = [f"{name}\nn = {len(values):,}" for name, values in groups.items()]
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(groups) > MANY else {}
    axes.set_xticks(range(len(groups)), names_below, **turned)
    axes.set_xlim(-0.6, max(0, len(groups) - 1) + 0.6)
    return figure


def learning_curves(results: Mapping[str, Mapping[str, Any]], metrics: Sequence[str], *, title: str) -> Figure:
    """Metrics after each epoch of stage 2, on validation and (dashed) on training documents.

    Args:
        results: Name in the legend -> a result with its ``epochs``: ``val`` and, where it was watched, ``train``.
        metrics: Names that the epochs hold, a panel each.
        title: What the reader sees here.

    Raises:
        DataError: A result without these epochs.
        MissingExtraError: matplotlib is not installed.
    """
    drawn: dict[str, dict[str, Line]] = {}
    for metric in metrics:
        scale, unit = (1.0, "") if metric == "Loss" else (100.0, " (%)")
        lines = drawn.setdefault(f"{metric}{unit}", {})
        for number, (name, result) in enumerate(results.items()):
            for split, word in (("val", "validation"), ("train", "training")):
                epochs = result.get("epochs", {}).get(split)
                if epochs is None and split == "train":
                    continue
                try:
                    points = [(float(place), scale * float(epoch[metric])) for place, epoch in enumerate(epochs, 1)]
                except (KeyError, TypeError) as error:
                    raise DataError(
                        f"no epochs with {metric} on the {word} split", where=name, fix="add it to monitor_metrics"
                    ) from error
                lines[f"{name}, {word}"] = Line(points, colour=number, dashed=split == "train")
    return line_picture(drawn, title=title, x="epoch of stage 2")


def rendered(figure: Figure, kind: str) -> bytes:
    """Return a file of a picture, ``png`` or ``svg``: the same bytes for the same picture, on another processor too."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context(STEADY):
        figure.savefig(stream, format=kind, dpi=150, metadata={"Date" if kind == "svg" else "Software": None})
    return _steady(stream.getvalue().decode()).encode() if kind == "svg" else stream.getvalue()


def _steady(svg: str) -> str:
    """Take out what the last bits of a number change: places to a hundredth of a point, names numbered, not hashed."""
    numbers: dict[str, str] = {}
    svg = HASHED.sub(lambda match: numbers.setdefault(match[0], f"{match[1]}{len(numbers)}"), svg)
    return PLACES.sub(lambda match: LONG_NUMBER.sub(lambda number: f"{float(number[0]):.2f}", match[0]), svg)


def save_picture(figure: Figure, path: Path) -> None:
    """Write a picture as its ending says, ``.png`` or ``.svg``: the same bytes for the same picture."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(rendered(figure, path.suffix.removeprefix(".")))
