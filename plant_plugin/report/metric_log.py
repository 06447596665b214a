"""``metrics.csv``: what a run measures while it trains, one number a line; TensorBoard or Weights & Biases beside it.

``logs.json`` holds the same validation metrics in LibMultiLabel's form, without the training loss and without steps.
"""

from __future__ import annotations

import contextlib
import csv
import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from plant_plugin.config.sections import Settings
from plant_plugin.errors import needs_extra
from plant_plugin.files import append, atomic_write, flush, write_text
from plant_plugin.report.record import FIRST_PASS

FILE = "metrics.csv"
STAGES = ("stage1", "stage2", "test")  # in the order of a run
PATHS = ("_file", "_dir", "_path", "resume")  # endings of keys that say where files lie: no other server need know
WANDB_ID = "wandb_id"  # a file in the run's folder, so that a resumed run goes on in the same place


class Place(NamedTuple):
    """What numbers are of."""

    stage: str  # one of STAGES
    epoch: int  # counted from 1; 0 for the test
    step: int  # optimiser steps of the stage so far
    split: str  # `train`, `val` or `test`; others are of an experiment


class _TensorBoard:
    """Event files in ``tensorboard/<stage>`` of the run's folder; ``tensorboard --logdir runs`` shows them."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        with _needed("tensorboard"):
            from torch.utils.tensorboard import SummaryWriter
        self._open, self._folder = SummaryWriter, folder / "tensorboard"
        self._writer: SummaryWriter | None = None

    def go_on(self, stage: str, step: int, written: int) -> None:
        """TensorBoard forgets what an earlier file has from ``purge_step`` on."""
        self.close()
        self._writer = self._open(str(self._folder / stage), purge_step=step + 1)

    def write(self, place: Place, metrics: Mapping[str, float]) -> None:
        if self._writer is not None:
            for name, value in metrics.items():
                self._writer.add_scalar(f"{place.split}/{name}", value, place.step)
            self._writer.flush()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _WeightsAndBiases:
    """One run of Weights & Biases for one run folder; W&B's own ``WANDB_PROJECT`` and ``WANDB_MODE`` decide where.

    Numbers and the configuration without paths go there: no text, label, console output, code or command line.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        with _needed("wandb"):
            import wandb
        identity = folder / WANDB_ID
        if not identity.is_file():
            write_text(identity, uuid.uuid4().hex[:12])
        run_folder = folder.parent if folder.name == FIRST_PASS else folder
        options = wandb.Settings(
            console="off", disable_code=True, disable_git=True, disable_job_creation=True, x_disable_meta=True,
            x_save_requirements=False, silent=settings.silent,
        )  # fmt: skip
        self._run = wandb.init(
            id=identity.read_text(encoding="utf-8"),
            resume="allow",
            name=run_folder.resolve().name,
            dir=str(folder),
            config={name: value for name, value in settings.as_dict().items() if not name.endswith(PATHS)},
            settings=options,
        )
        self._written = 0

    def go_on(self, stage: str, step: int, written: int) -> None:
        """W&B passes over steps that it has: ``written`` calls are kept, and the same numbers get their step again."""
        self._written = written
        self._run.define_metric(f"{stage}/*", step_metric=f"{stage}/step")

    def write(self, place: Place, metrics: Mapping[str, float]) -> None:
        found = {f"{place.stage}/{place.split}/{name}": value for name, value in metrics.items()}
        self._run.log({**found, f"{place.stage}/step": place.step}, step=self._written)
        self._written += 1

    def close(self) -> None:
        self._run.finish()


def _needed(extra: str) -> AbstractContextManager[None]:
    return needs_extra(extra, f"{extra} is not installed", where=f"logger: {extra}", otherwise="or logger: csv")


SINKS: dict[str, type[_TensorBoard | _WeightsAndBiases]] = {"tensorboard": _TensorBoard, "wandb": _WeightsAndBiases}


class MetricLog:
    """Keeps the numbers of a run in ``metrics.csv`` of its folder, and where ``logger`` says.

    Raises:
        MissingExtraError: What ``logger`` names is not installed.
        PlantError: From any method: the file cannot be written.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.path = folder / FILE
        sink = SINKS.get(settings.logger)
        self._sink = None if sink is None else sink(settings, folder)

    def go_on(self, stage: str, step: int) -> None:
        """Forget what comes behind a step of a stage, which starts there: a resumed run measures it again."""
        kept = sorted(
            (row for row in read_metrics(self.path) if row[0].stage != stage or 0 < row[0].step <= step),
            key=lambda row: STAGES.index(row[0].stage),
        )
        with atomic_write(self.path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*Place._fields, "metric", "value"])
            writer.writerows([*place, metric, repr(value)] for place, metric, value in kept)
        if self._sink:
            self._sink.go_on(stage, step, len({place for place, _, _ in kept}))

    def write(self, place: Place, metrics: Mapping[str, float]) -> None:
        """Add numbers."""
        where = ",".join(map(str, place))
        append(self.path, "".join(f"{where},{name},{float(value)!r}\n" for name, value in metrics.items()))
        if self._sink:
            self._sink.write(place, metrics)

    def flush(self) -> None:
        """Wait until the file is on the disk."""
        if self.path.is_file():
            flush(self.path)

    def size(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size if self.path.is_file() else 0

    def close(self) -> None:
        """Nothing more comes."""
        if self._sink:
            self._sink.close()


def read_metrics(path: Path) -> list[tuple[Place, str, float]]:
    """The lines of ``metrics.csv``; those that are torn are passed over, as the last one of a killed process."""
    if not path.is_file():
        return []
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0].splitlines()[1:]:
        with contextlib.suppress(ValueError, csv.Error):
            stage, epoch, step, split, metric, value = next(csv.reader([line]))
            STAGES.index(stage)
            found.append((Place(stage, int(epoch), int(step), split), metric, float(value)))
    return found
