"""``metrics.csv``: what a run measures while it trains, one number a line.

``logs.json`` holds the same validation metrics in LibMultiLabel's form, without the training loss and without steps.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from plant_plugin.files import append, atomic_write, flush

FILE = "metrics.csv"
STAGES = ("stage1", "stage2", "test")  # in the order of a run


class Place(NamedTuple):
    """The moment of a run in which numbers were measured."""

    stage: str  # one of STAGES
    epoch: int  # counted from 1; 0 for the test
    step: int  # optimiser steps of the stage so far
    split: str  # `train`, `val` or `test`; others are of an experiment


class Logger(Protocol):
    """A logger of Lightning, which a trained model does not need."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Take numbers of a step."""

    def save(self) -> None:
        """Write what was taken."""

    def finalize(self, status: str) -> None:
        """Close."""


class MetricLog:
    """Keeps the numbers of a run in ``metrics.csv`` of its folder, and in a logger beside it.

    Args:
        folder: The run's.
        open_logger: Opens the logger of a stage that has done so many steps; None: there is none.

    Raises:
        PlantError: From any method: the file cannot be written.
    """

    def __init__(self, folder: Path, open_logger: Callable[[str, int], Logger] | None = None) -> None:
        self.path = folder / FILE
        self._open_logger = open_logger
        self._logger: Logger | None = None

    def go_on(self, stage: str, step: int) -> None:
        """Start or resume a stage after a step: what an earlier run measured there after it is forgotten."""
        earlier = sorted(
            (row for row in read_metrics(self.path) if row[0].stage != stage or 0 < row[0].step <= step),
            key=lambda row: STAGES.index(row[0].stage),
        )
        with atomic_write(self.path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*Place._fields, "metric", "value"])
            writer.writerows([*place, metric, repr(value)] for place, metric, value in earlier)
        self.close()
        if self._open_logger:
            self._logger = self._open_logger(stage, step)

    def write(self, place: Place, metrics: Mapping[str, float]) -> None:
        """Add numbers."""
        where = ",".join(map(str, place))
        append(self.path, "".join(f"{where},{name},{float(value)!r}\n" for name, value in metrics.items()))
        if self._logger:
            self._logger.log_metrics({f"{place.split}/{name}": value for name, value in metrics.items()}, place.step)
            self._logger.save()

    def flush(self) -> None:
        """Wait until the file is on the disk."""
        if self.path.is_file():
            flush(self.path)

    def size(self) -> int:
        """Return the bytes of the file."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def close(self) -> None:
        """Close the logger."""
        if self._logger:
            self._logger.finalize("success")
        self._logger = None


def read_metrics(path: Path) -> list[tuple[Place, str, float]]:
    """Read the lines of ``metrics.csv``; those that are torn are passed over, as the last one of a killed process."""
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0].splitlines()[1:]:
        with contextlib.suppress(ValueError, csv.Error):
            stage, epoch, step, split, metric, value = next(csv.reader([line]))
            STAGES.index(stage)
            rows.append((Place(stage, int(epoch), int(step), split), metric, float(value)))
    return rows
