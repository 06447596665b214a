"""Pictures of results with matplotlib: lines, violins, gains, F1 by frequency, learning curves; PNG and SVG."""

from __future__ import annotations

import io
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.evaluation import names
from plant_plugin.files import atomic_write
from plant_plugin.report.compare import Table
from plant_plugin.report.systems import System

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; markers for print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
MOST_PANELS = 4
MANY = 5  # more names than this do not fit beside each other
STYLE: Any = {"svg.hashsalt": "plant", "svg.fonttype": "path", "font.size": 11}  # the same file every time
Points = Sequence[tuple[float, float]]
Panels = Mapping[str, Mapping[str, "Line"]]


@dataclass(frozen=True)
class Line:
    """A line of a picture.

    Attributes:
        points: (x, y).
        deviations: Half the height of a bar at each point, or None.
        colour: Lines of one number look alike; None: the line's own place.
        dashed: For what is there to compare with.
    """

    points: Points
    deviations: Sequence[float] | None = None
    colour: int | None = None
    dashed: bool = False


def line_picture(
    panels: Panels, *, title: str, x: str, x_names: Sequence[str] | None = None, logarithmic: bool = False
) -> Figure:
    """Lines with a marker at each point, a panel for each quantity, all over the same horizontal axis.

    Args:
        panels: Label of the vertical axis, with its unit -> name in the legend -> line.
        title: What the reader sees here.
        x: Label of the horizontal axis, with its unit.
        x_names: Words for x = 0, 1, … where the axis holds no numbers.
        logarithmic: Whether the horizontal axis is; its ticks are the points.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, columns = _empty(title, [(x, y) for y in panels])
    shown: dict[str, Any] = {}
    for axes, lines in zip(columns, panels.values(), strict=True):
        for place, (name, line) in enumerate(lines.items()):
            number = place if line.colour is None else line.colour
            style: dict[str, Any] = {
                "color": COLOURS[number % len(COLOURS)], "capsize": 3, "linestyle": "--" if line.dashed else "-",
                "marker": MARKERS[number % len(MARKERS)], "markersize": 5, "markevery": max(1, len(line.points) // 12),
                "label": name,
            }  # fmt: skip
            horizontal, vertical = [point[0] for point in line.points], [point[1] for point in line.points]
            shown.setdefault(name, axes.errorbar(horizontal, vertical, yerr=line.deviations, **style))
        if x_names is not None:
            axes.set_xticks(range(len(x_names)), x_names)
        elif not logarithmic:
            axes.locator_params(axis="x", integer=True)
        if logarithmic:
            ticks = sorted({point[0] for line in lines.values() for point in line.points})
            axes.set_xscale("log")
            axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in ticks], minor=False)
            axes.set_xticks([], minor=True)
    if len(shown) > 1:
        figure.legend(shown.values(), shown.keys(), frameon=False, loc="outside lower center", ncols=min(4, len(shown)))
    return figure


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
    figure, (axes,) = _empty(title, [(x, y)])
    for place, values in enumerate(groups.values()):
        colour = COLOURS[place % len(COLOURS)]
        if len(set(values)) > 1:
            body: Any = axes.violinplot([list(values)], [place], widths=0.8, showextrema=False)["bodies"]
            for part in body:
                part.set_facecolor(colour)
                part.set_alpha(0.5)
        if len(values):
            mean = statistics.fmean(values)
            axes.plot([place], [mean], marker="o", color=colour, markeredgecolor="white")
            axes.annotate(f"mean {_short(mean)}", (place, mean), (8, 4), textcoords="offset points", fontsize=9)
    names_below = [f"{name}\nn = {len(values):,}" for name, values in groups.items()]
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if len(groups) > MANY else {}
    axes.set_xticks(range(len(groups)), names_below, **turned)
    axes.set_xlim(-0.6, max(0, len(groups) - 1) + 0.6)
    return figure


def _short(value: float) -> str:
    """One decimal of a percentage, two of a small number."""
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def gains_picture(table: Table, metrics: Sequence[str]) -> Figure | None:
    """Gain over the baseline with its interval, a panel for each metric; None where nothing was tested.

    Args:
        table: A comparison.
        metrics: Some of its columns, left to right.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    systems = [name for name in table.systems if any(table.cells[name, metric].test for metric in metrics)]
    if not systems:
        return None
    title = (
        f"{table.title}: points gained or lost against {table.baseline}\n"
        "dot: gain, filled where significant; bar: 95 % interval of resamples, which hold fewer of the rare labels"
    )
    figure, columns = _empty(title, [(f"{metric}, points", "") for metric in metrics], 1.8 + 0.35 * len(systems))
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
    threshold: str = "macro",
    title: str = "F1 of labels by how often the training split has them",
) -> Figure | None:
    """F1 of labels against how often the training split has them; None where no result has bins."""
    bins = [b for b in names.BINS if any(system.values(_binned(threshold, b)) for system in systems)]
    lines: dict[str, Line] = {}
    for system in systems:
        found = [(place, values) for place, b in enumerate(bins) if (values := system.values(_binned(threshold, b)))]
        if found:
            points = [(float(place), 100 * statistics.fmean(values)) for place, values in found]
            lines[system.name] = Line(points, [100 * statistics.stdev(v) if len(v) > 1 else 0.0 for _, v in found])
    if not lines:
        return None
    y = "mean F1 of labels in the test split (%)"
    return line_picture({y: lines}, title=title, x="training documents with the label", x_names=bins)


def _binned(threshold: str, label_bin: str) -> str:
    return f"Macro-F1-present@{threshold}:{label_bin}"


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
    panels: dict[str, dict[str, Line]] = {}
    for metric in metrics:
        scale, unit = (1.0, "") if metric == "Loss" else (100.0, " (%)")
        lines = panels.setdefault(f"{metric}{unit}", {})
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
    return line_picture(panels, title=title, x="epoch of stage 2")


def svg_of_comparison(systems: Sequence[System], table: Table) -> dict[str, bytes]:
    """Caption -> SVG of the pictures that a comparison allows: gains, F1 by frequency, learning curves."""
    epochs = {system.name: system.results[0] for system in systems if system.told("epochs", "val")}
    watched = [set(result["epochs"]["val"][0]) for result in epochs.values()]
    common = sorted(set.intersection(*watched))[:MOST_PANELS] if watched else []
    curves = None
    if common:
        curves = learning_curves(epochs, common, title="Metrics after each epoch, first seed")
    found = {
        "Gain over the baseline. The bar is the 95 % interval of the paired bootstrap.": gains_picture(
            table, table.metrics[:MOST_PANELS]
        ),
        "Mean F1 of the labels of the test split, by how many training documents have them; bars: deviation over "
        "seeds. Thresholds tuned on validation for macro-F1.": frequency_picture(systems),
        "After each epoch of training, on validation documents.": curves,
    }
    return {caption: _rendered(figure, "svg") for caption, figure in found.items() if figure is not None}


def save_picture(figure: Figure, stem: str | Path) -> list[Path]:
    """Write ``<stem>.png`` and ``<stem>.svg``, each whole or not at all; the same bytes for the same picture."""
    written = []
    for kind in ("png", "svg"):
        path = Path(f"{stem}.{kind}")
        with atomic_write(path) as temporary:
            temporary.write_bytes(_rendered(figure, kind))
        written.append(path)
    return written


def _rendered(figure: Figure, kind: str) -> bytes:
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        metadata: Any = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, dpi=150, metadata=metadata)
    return stream.getvalue()


def _empty(title: str, labels: Sequence[tuple[str, str]], height: float = 4.5) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each pair of axis labels."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", fix="pip install 'plant-plugin[pictures]'"
        ) from error
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
