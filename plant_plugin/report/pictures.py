"""Pictures of results with matplotlib: lines, violins, F1 against frequency, learning curves; PNG and SVG."""

from __future__ import annotations

import io
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.evaluation import names
from plant_plugin.files import atomic_write
from plant_plugin.report.systems import System

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; markers for print without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = "osD^vPX"
STYLE: Any = {"svg.hashsalt": "plant", "svg.fonttype": "path", "font.size": 11}  # the same file every time
Points = Sequence[tuple[float, float]]


def line_picture(
    series: Mapping[str, Points],
    *,
    title: str,
    x: str,
    y: str,
    deviations: Mapping[str, Sequence[float]] | None = None,
    x_names: Sequence[str] | None = None,
) -> Figure:
    """Lines with a marker at each point.

    Args:
        series: Name in the legend -> (x, y) points.
        title: What the reader sees here.
        x: Label of the horizontal axis, with its unit.
        y: Label of the vertical axis, with its unit.
        deviations: Name -> half the height of a bar at each point.
        x_names: Words for x = 0, 1, … where the axis holds no numbers.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _empty(title, x, y)
    for number, (name, points) in enumerate(series.items()):
        style: dict[str, Any] = {
            "color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)], "label": name,
            "capsize": 3, "markersize": 5,
        }  # fmt: skip
        horizontal, vertical = [point[0] for point in points], [point[1] for point in points]
        axes.errorbar(horizontal, vertical, yerr=(deviations or {}).get(name), **style)
    if x_names is not None:
        axes.set_xticks(range(len(x_names)), x_names)
    if series:
        axes.legend(frameon=False)
    return figure


def violin_picture(groups: Mapping[str, Sequence[float]], *, title: str, x: str, y: str) -> Figure:
    """The distribution of values in each group, with its median and a count.

    Args:
        groups: Name below the violin -> values; a group of one value is a dot, an empty one only its name.
        title: What the reader sees here.
        x: Label of the horizontal axis.
        y: Label of the vertical axis, with its unit.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure, axes = _empty(title, x, y)
    for place, values in enumerate(groups.values()):
        colour = COLOURS[place % len(COLOURS)]
        if len(set(values)) > 1:
            body: Any = axes.violinplot([list(values)], [place], widths=0.8, showextrema=False)["bodies"]
            for part in body:
                part.set_facecolor(colour)
                part.set_alpha(0.5)
        if len(values):
            axes.plot([place], [statistics.median(values)], marker="o", color=colour, markeredgecolor="white")
    axes.set_xticks(range(len(groups)), [f"{name}\nn = {len(values):,}" for name, values in groups.items()])
    axes.set_xlim(-0.6, max(0, len(groups) - 1) + 0.6)
    return figure


def frequency_picture(systems: Sequence[System], *, threshold: str = "macro") -> Figure | None:
    """F1 of labels against how often the training split has them; None where no result has bins."""
    bins = [b for b in names.BINS if any(system.values(_binned(threshold, b)) for system in systems)]
    series: dict[str, Points] = {}
    deviations: dict[str, list[float]] = {}
    for system in systems:
        found = [(place, values) for place, b in enumerate(bins) if (values := system.values(_binned(threshold, b)))]
        if found:
            series[system.name] = [(place, 100 * statistics.fmean(values)) for place, values in found]
            deviations[system.name] = [100 * statistics.stdev(v) if len(v) > 1 else 0.0 for _, v in found]
    if not series:
        return None
    return line_picture(
        series,
        title="F1 of labels by how often the training split has them",
        x="training documents with the label",
        y="mean F1 of labels in the test split (%)",
        deviations=deviations,
        x_names=bins,
    )


def _binned(threshold: str, label_bin: str) -> str:
    return f"Macro-F1-present@{threshold}:{label_bin}"


def learning_curves(logs: Mapping[str, str | Path], metric: str) -> Figure:
    """A validation metric after each epoch.

    Args:
        logs: Name in the legend -> ``logs.json`` of a run.
        metric: A name that the logs hold under ``val``.

    Raises:
        DataError: A file is no log, or holds no such metric.
    """
    scale = 1.0 if metric == "Loss" else 100.0
    series = {}
    for name, path in logs.items():
        try:
            epochs = json.loads(Path(path).read_text(encoding="utf-8"))["val"]
            values = [scale * float(epoch[metric]) for epoch in epochs]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"no log with {metric} of the validation split ({type(error).__name__})",
                where=str(path),
                fix="give the logs.json of a run whose monitor_metrics hold the metric",
            ) from error
        series[name] = list(enumerate(values, 1))
    unit = "" if metric == "Loss" else " (%)"
    return line_picture(series, title="Learning curves", x="epoch", y=f"{metric} on validation{unit}")


def svg_of_systems(systems: Sequence[System]) -> dict[str, bytes]:
    """Caption -> SVG of the pictures that results alone allow."""
    figure = frequency_picture(systems)
    if figure is None:
        return {}
    caption = "Mean F1 of the labels of the test split, by how many training documents have them; bars: deviation "
    return {caption + "over seeds. Thresholds tuned on validation for macro-F1.": _rendered(figure, "svg")}


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


def _empty(title: str, x: str, y: str) -> tuple[Figure, Axes]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", fix="pip install 'plant-plugin[pictures]'"
        ) from error
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
    axes.set_title(title, loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes
