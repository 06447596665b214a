"""Learning curves of runs, with matplotlib: validation metrics and the training loss, epoch by epoch."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from plant_plugin.errors import DataError
from plant_plugin.report.logs import LOGS, evaluations, read_logs
from plant_plugin.report.metric_log import FILE, read_metrics
from plant_plugin.report.pictures import COLOURS, panels
from plant_plugin.report.record import FIRST_PASS

LOSS = "loss"
Curve = dict[int, float]  # epoch -> value


def learning_curves(folder: Path) -> dict[str, Curve]:
    """Return metric -> what validation documents had after each epoch, and the training ``loss`` where it was kept.

    Of a run that was trained twice (``refit``) they are of the first training, the one with validation documents. Runs
    without a network have none.
    """
    folder = first if (first := folder / FIRST_PASS).is_dir() else folder
    curves: dict[str, Curve] = {}
    for epoch, values in enumerate(evaluations(read_logs(folder / LOGS), "val"), 1):
        for name, value in values.items():
            if value is not None:
                curves.setdefault(name, {})[epoch] = value
    for place, name, value in read_metrics(folder / FILE):
        if (place.stage, place.split, name) == ("stage2", "train", LOSS):
            curves.setdefault(LOSS, {})[place.epoch] = value
    return curves


def svg_of_curves(runs: Mapping[str, Sequence[Path]], metrics: Sequence[str] = ()) -> bytes:
    """Draw a panel for each metric, a colour for each system and a line for each of its runs; returns SVG.

    Args:
        runs: Folders of the runs of each system.
        metrics: Names as in ``logs.json``, or ``loss``; none: what most runs have, and the loss.

    Raises:
        DataError: No run has such a curve.
        MissingExtraError: matplotlib is not installed.
    """
    curves = {name: [learning_curves(folder) for folder in folders] for name, folders in runs.items()}
    held = Counter(metric for of_runs in curves.values() for curve in of_runs for metric in curve)
    most = max((number for metric, number in held.items() if metric != LOSS), default=0)
    common = [metric for metric, number in held.items() if number == most and metric != LOSS][:1]
    chosen = [*metrics] or [*common, *([LOSS] if LOSS in held else [])]
    if not held:
        raise DataError("no run has trained a network", where=", ".join(runs), fix="name runs that have")
    if missing := [metric for metric in chosen if metric not in held]:
        fix = f"choose from {', '.join(sorted(held))}"
        raise DataError(f"no run has a curve of {', '.join(missing)}", where=", ".join(runs), fix=fix)
    figure, columns = panels("Validation documents, after each epoch", [("epoch", metric) for metric in chosen])
    for axes, metric in zip(columns, chosen, strict=True):
        for colour, (name, of_runs) in enumerate(curves.items()):
            drawn = [curve[metric] for curve in of_runs if metric in curve]
            for number, curve in enumerate(drawn):
                label = name if number == 0 else None
                axes.plot([*curve], [*curve.values()], marker=".", color=COLOURS[colour % len(COLOURS)], label=label)
        axes.legend(frameon=False)
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()
