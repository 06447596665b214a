"""The state that an interrupted stage goes on from: optimiser, schedule, place in the epoch, early stopping, weights.

Random draws need no state: each batch is seeded by its number (:meth:`StageModule.on_train_batch_start`).
"""

from __future__ import annotations

import logging
import pickle
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch.callbacks import Checkpoint

from plant_plugin.config import Config
from plant_plugin.config.values import parse_interval
from plant_plugin.files import atomic_write
from plant_plugin.report.logs import log_lengths
from plant_plugin.report.record import note_cost
from plant_plugin.report.run import Run
from plant_plugin.training.devices import is_first
from plant_plugin.training.resume import listen, stopped
from plant_plugin.training.stage import STATE_KEY, StageModule

if TYPE_CHECKING:
    import lightning as L

logger = logging.getLogger(__name__)

FORMAT = 1
KEPT = 2  # states of a stage on disk: the newest, and one to fall back on
PATTERN = "state-*.ckpt"


class Foreign(ValueError):
    """A whole state that belongs to another run."""


UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, pickle.UnpicklingError)


@dataclass(frozen=True)
class State:
    """What is known of a state without loading it into a network.

    Attributes:
        path: The file.
        step: Optimiser steps done.
        epoch: The epoch to go on with.
        batch: The batch of that epoch to go on with.
        has_ended: The early stopping had already ended the stage.
        skipped: Steps left out so far, see training/guards.py.
        pieces: Parts that a batch was computed in, see training/guards.py.
        log_lengths: Evaluations that ``logs.json`` held, by split.
    """

    path: Path
    step: int
    epoch: int
    batch: int
    has_ended: bool
    skipped: int
    pieces: int
    log_lengths: dict[str, int]


class WholeFiles(TorchCheckpointIO):
    """How Lightning writes: our way, straight into the folder. Its own goes through memory and the temporary folder."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a file, whole or not at all."""
        with atomic_write(path) as temporary, open(temporary, "wb") as stream:  # given a name, torch hides the reason
            torch.save(checkpoint, stream)


class KeepState(Checkpoint):
    """Writes the state after the first step, every so often, and after each epoch; ends the stage after SIGTERM.

    Args:
        folder: Of the stage.
        config: ``checkpoint_every`` is read.
        run: Knows whether a stop was asked for.
    """

    has_ended = False

    def __init__(self, folder: Path, config: Config, run: Run) -> None:
        self.folder, self.config, self.run = folder, config, run
        self._steps, self._seconds = parse_interval(config.checkpoint_every)
        self._last = time.monotonic()

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        """A stage that the early stopping had ended before its state was read has no further epoch."""
        listen(self.config, self.run)
        trainer.should_stop = trainer.should_stop or self.has_ended

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Write between two optimiser steps, where no gradient is half added up; the last batch waits for its epoch."""
        if trainer.is_last_batch or (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        step = trainer.global_step
        due = step == 1 or (self._steps is not None and step % self._steps == 0)
        due = due or (self._seconds is not None and time.monotonic() - self._last >= self._seconds)
        if trainer.strategy.reduce_boolean_decision(due or self.run.stop_asked, all=False):  # all processes as one
            self._write(trainer, pl_module, trainer.current_epoch, batch_idx + 1)
            self._stop_if_asked(trainer)

    def on_validation_batch_start(self, trainer: L.Trainer, pl_module: L.LightningModule, *batch: Any) -> None:
        """A stop does not wait for the end of the validation; its epoch goes on behind the last state."""
        self._stop_if_asked(trainer)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: Any) -> None:
        """Write behind the validation, when best score and early stopping are known."""
        self._write(trainer, pl_module, trainer.current_epoch + 1, 0)
        self._stop_if_asked(trainer)

    def _stop_if_asked(self, trainer: L.Trainer) -> None:
        if trainer.strategy.reduce_boolean_decision(self.run.stop_asked, all=False):
            raise stopped(self.config, self.run)

    def _write(self, trainer: L.Trainer, module: StageModule, epoch: int, batch: int) -> None:
        """One whole file, then remove all but the newest."""
        module.state_of_run = {
            "format": FORMAT,
            "config": self.config.hash(),
            "step": trainer.global_step,
            "epoch": epoch,
            "batch": batch,
            "has_ended": trainer.should_stop,
            "skipped": module.guard.skipped,
            "pieces": module.pieces,
            "log_lengths": log_lengths(self.config.log_path, module.logs),
        }
        path = self.folder / f"state-{trainer.global_step:09d}.ckpt"
        self._last = time.monotonic()
        trainer.save_checkpoint(path)  # the others wait for the first process, which writes
        if not is_first():
            return
        note_cost(self.run.folder, self.run.totals())
        for old in sorted(self.folder.glob(PATTERN))[:-KEPT]:
            old.unlink(missing_ok=True)


def newest_state(folder: Path, config_hash: str) -> State | None:
    """The newest whole state of a stage; says which files were passed over and why.

    Args:
        folder: Of the stage.
        config_hash: Of the configuration that the state has to be of.
    """
    for path in sorted(folder.glob(PATTERN), reverse=True):
        try:
            with zipfile.ZipFile(path) as archive:  # torch itself does not compare the sums
                if archive.testzip() is not None:
                    raise ValueError("a sum does not agree")
            content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)[STATE_KEY]
            if content["format"] != FORMAT or content["config"] != config_hash:
                raise Foreign("of another run")
            return State(
                path,
                *(
                    content[name]
                    for name in ("step", "epoch", "batch", "has_ended", "skipped", "pieces", "log_lengths")
                ),
            )
        except UNREADABLE as error:
            what = str(error) if isinstance(error, Foreign) else "torn"
            logger.warning("%s is %s and set aside; the state before it is used.", path, what)
            path.rename(path.with_suffix(".unusable"))
    return None
