"""Train one stage under Lightning's trainer, with its state and best weights on disk.

An interrupted stage resumes from its optimiser, schedule, place in the epoch, early stopping and weights.
Random draws need none: each batch is seeded by its number (:meth:`StageModule.on_train_batch_start`).
"""

from __future__ import annotations

import gc
import logging
import time
import warnings
from collections.abc import Sized
from pathlib import Path

from plant_plugin.training import quick_lightning  # noqa: F401 before Lightning

# isort: split
import lightning as L
import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch.callbacks import Callback, Checkpoint, TQDMProgressBar
from lightning.pytorch.plugins.environments import TorchElasticEnvironment
from lightning.pytorch.strategies import DDPStrategy

from plant_plugin.config.values import parse_interval
from plant_plugin.errors import PlantError
from plant_plugin.files import atomic_write
from plant_plugin.networks.kernels.label_attention import halve_blocks
from plant_plugin.report.bars import can_draw
from plant_plugin.report.logs import evaluations, read_logs, shorten_log, without_config
from plant_plugin.report.record import note_cost, note_of_stage, read_run_record
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, device_of, from_first, is_first, machines, same_weights
from plant_plugin.training.guards import out_of_memory
from plant_plugin.training.resume import (
    PATTERN,
    STATE_KEY,
    StateContent,
    interrupted,
    is_whole,
    listen,
    read_state,
    stopped,
)
from plant_plugin.training.run_settings import precision_of, so_many
from plant_plugin.training.stage import StageModule
from plant_plugin.training.stopping import judges

logger = logging.getLogger(__name__)

BEST = "best.ckpt"
BESIDE_THE_POINT = (  # warnings of Lightning
    ".*does not have many workers.*",
    ".*in eval mode at the start of training.*",  # a frozen encoder
    ".*Checkpoint directory .* exists and is not empty.*",
    ".*It is recommended to use .*sync_dist.*",  # metrics are the same
    ".*Total length of `list` across ranks is zero.*",  # no validation
    ".*your dataloader is not resumable.*",  # it is: resumed_at
    ".*GPU available but not used.*",  # `cpu: true`
    ".*The dirpath has changed from.*",  # a relative folder by its whole path
    ".*lr_scheduler.step.. before .optimizer.step.*",  # fp16 leaves out steps until its scale fits
)
KEPT = 2  # states of a stage on disk: the newest, and one to fall back on
LOSS_EVERY = 10  # optimiser steps


def train_stage(module: StageModule, run: Run) -> None:
    """Train a stage, from its last state where the run is resumed; afterwards the network holds the best weights.

    The run's folder receives ``<stage>/state-<step>.ckpt`` and ``<stage>/best.ckpt``.

    Raises:
        PlantError: Too many steps were not finite, or memory does not suffice for one document.
        Interrupted: Ctrl-C; says how to resume.
        Stopped: SIGTERM; the state is saved.
    """
    if run.measure_stage is not None:
        run.measure_stage(module)
        return
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)  # its advertisements and remarks on limits of 1.0
    module.run = run
    resumed = bool(module.settings.resume)
    while not _fitted(module, resumed=resumed):
        resumed = True
    if run.stop_asked:
        raise stopped(run)
    if module.guard.skipped and is_first():
        note_of_stage(run.folder, "skipped_steps", module.stage, module.guard.skipped)
    best = run.folder / module.stage / BEST
    if is_first() and best.is_file():
        content = torch.load(best, map_location="cpu", weights_only=True)
        module.load_state_dict(content["state_dict"])
        note_of_stage(run.folder, "best_epochs", module.stage, content["epoch"] + 1)
    same_weights(module.network)


def _fitted(module: StageModule, *, resumed: bool) -> bool:
    """Train until the stage has ended; false where memory ran out and the next try needs less of it."""
    module.on_train_end()  # a try that memory ended left layers frozen, which the optimiser would not know
    module.train()  # pretrained models come in evaluation mode, without dropout, and Lightning leaves them so
    module.guard.forget()
    run, keep_state = module.run, KeepState(module)
    newest = from_first(lambda: newest_state(keep_state.folder, run.config_hash)) if resumed else None
    path, state = (None, None) if newest is None else newest
    if is_first():
        shorten_log(run.log_path, {module.log_name: 0} if state is None else state["log_lengths"])
        run.metrics.go_on(module.stage, 0 if state is None else state["step"])
        if state is not None and run.metrics.size() < state.get("metrics_size", 0):
            logger.warning("%s is torn: some of its numbers are lost. The run does not need them.", run.metrics.path)
    if state is not None:
        module.resumed_at = (state["epoch"], state["batch"])
        module.guard.skipped, module.pieces = state["skipped"], max(module.pieces, state["pieces"])
        keep_state.has_ended = state["has_ended"]
        run.log(f"{module.stage} resumes after step {state['step']}")
    with warnings.catch_warnings(), run.stopping_by_itself():
        for message in BESIDE_THE_POINT:
            warnings.filterwarnings("ignore", message=message)
        trainer = _trainer(module, keep_state)
        try:
            trainer.fit(module, ckpt_path=path and str(path), weights_only=True)
        except SystemExit as stop:  # how Lightning ends after Ctrl-C
            raise interrupted(run) from stop
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            reason = error
        else:
            return True
    del trainer
    if count() > 1:  # the others are in the middle of a step
        fix = "lower batch_size and raise accumulate; a single device lowers them by itself"
        raise PlantError("out of memory on one of several devices", where=module.stage, fix=fix) from reason
    done = _lighten(module)
    if done is None:
        fix = "lower max_seq_length or the network's size, or stage1.labels"
        raise PlantError("memory does not suffice for one document", where=module.stage, fix=fix) from reason
    run.log(f"{module.stage}: out of memory; {done}, and the stage resumes after the last step saved")
    return False


def _lighten(module: StageModule) -> str | None:
    """Make a stage need less memory, and say how: first smaller blocks of labels (twice), then batches in pieces."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if halve_blocks():
        return "blocks of labels are halved"
    if module.pieces >= module.batch_size:  # a piece is one document
        return None
    module.pieces *= 2
    if module.val_batches is not None:
        module.val_batches.batch_size = max(1, module.val_batches.batch_size // 2)
    return f"each batch is computed in {module.pieces} pieces whose gradients add up"


def _trainer(module: StageModule, keep_state: KeepState) -> L.Trainer:
    """Return a Lightning trainer that keeps the best weights by ``module.monitor`` and the state to resume from."""
    settings, run, callbacks = module.settings, module.run, list[Callback]()
    if module.val_batches is not None:
        callbacks = judges(module, keep_state.folder)
    callbacks.append(keep_state)  # after `best`, so that the state to resume from knows this epoch's best score
    if bar := not run.silent and can_draw():
        callbacks.append(TQDMProgressBar(refresh_rate=10))
    device = device_of(settings)
    return L.Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        devices=settings.devices,
        num_nodes=machines(),
        # Stage 1 leaves boosts, values and classifier without a gradient, and networks of users may leave others.
        strategy=DDPStrategy(cluster_environment=TorchElasticEnvironment(), find_unused_parameters=True)
        if count() > 1
        else "auto",
        use_distributed_sampler=False,
        precision=precision_of(settings),
        max_epochs=run.stop_after.get(module.stage, module.epochs),
        callbacks=callbacks,
        plugins=[WholeFiles()],
        accumulate_grad_batches=settings.accumulate,
        gradient_clip_val=module.options.clip_norm,
        gradient_clip_algorithm="norm",
        limit_train_batches=_limit(settings.limit_train_batches, module.train_batches),
        limit_val_batches=_limit(settings.limit_val_batches, module.val_batches),
        logger=False,
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,
        enable_model_summary=False,
        enable_progress_bar=bar,
        default_root_dir=run.folder,
    )


def _limit(limit: float, batches: Sized | None) -> float | int:
    """Return a limit as Lightning reads it; all is a share."""
    return 1.0 if limit == 1 or batches is None else so_many(limit, len(batches))


class WholeFiles(TorchCheckpointIO):
    """Write straight into the folder; Lightning's own way goes through memory and the temporary folder."""

    def save_checkpoint(self, checkpoint: dict[str, object], path: str | Path, storage_options: object = None) -> None:
        """Write a file, whole or not at all."""
        with atomic_write(path) as temporary, open(temporary, "wb") as stream:  # given a name, torch hides the reason
            torch.save(checkpoint, stream)


class KeepState(Checkpoint):
    """Write the state after the first step, every so often, and after each epoch; end the stage after SIGTERM.

    It writes the loss too, every few steps by their number: so a resumed run writes the same.
    """

    has_ended = False

    def __init__(self, module: StageModule) -> None:
        self.module, self.run, self.folder = module, module.run, module.run.folder / module.stage
        self._steps, self._seconds = parse_interval(module.settings.checkpoint_every)
        self._last = time.monotonic()

    def on_train_start(self, trainer: L.Trainer, pl_module: object) -> None:
        """Train no further epoch of a stage that the early stopping had ended before its state was read."""
        listen(self.run)
        trainer.should_stop = trainer.should_stop or self.has_ended

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: object, outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Write between two optimiser steps, where no gradient is half added up; the last batch waits for its epoch."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        step = trainer.global_step
        if step % LOSS_EVERY == 0:
            rates = {f"learning_rate_{group['name']}": group["lr"] for group in trainer.optimizers[0].param_groups}
            self.module.keep("train", {"loss": float(trainer.callback_metrics["loss"]), **rates})
        if trainer.is_last_batch:
            return
        due = step == 1 or (self._steps is not None and step % self._steps == 0)
        due = due or (self._seconds is not None and time.monotonic() - self._last >= self._seconds)
        if trainer.strategy.reduce_boolean_decision(due or self.run.stop_asked, all=False):  # all processes as one
            self._write(trainer, trainer.current_epoch, batch_idx + 1)

    def on_validation_batch_start(self, trainer: L.Trainer, *others: object) -> None:
        """Let a stop not wait for the end of the validation; its epoch resumes after the last state."""
        self._stop_if_asked(trainer)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: object) -> None:
        """Write after the validation, when best score and early stopping are known."""
        self._write(trainer, trainer.current_epoch + 1, 0)

    def on_save_checkpoint(self, trainer: L.Trainer, pl_module: object, checkpoint: dict[str, object]) -> None:
        """Add what Lightning does not know."""
        module = self.module
        logs, record = read_logs(self.run.log_path), read_run_record(self.run.folder)
        epoch, batch = self._place
        content: StateContent = {
            "config": self.run.config_hash,
            "step": trainer.global_step,
            "epoch": epoch,
            "batch": batch,
            "has_ended": trainer.should_stop,
            "skipped": module.guard.skipped,
            "pieces": module.pieces,
            "log_lengths": {module.log_name: len(evaluations(logs, module.log_name))},
            "logs": without_config(logs),
            "has_best": (self.folder / BEST).is_file(),
        }
        if record is not None:
            content["record"] = record
        if is_first():
            content["metrics_size"] = self.run.metrics.size()
        checkpoint[STATE_KEY] = content

    def _stop_if_asked(self, trainer: L.Trainer) -> None:
        if trainer.strategy.reduce_boolean_decision(self.run.stop_asked, all=False):
            raise stopped(self.run)

    def _write(self, trainer: L.Trainer, epoch: int, batch: int) -> None:
        """Write one whole file, then remove all but the newest."""
        self._place = (epoch, batch)
        if is_first():
            self.run.metrics.flush()  # no state is on the disk before the numbers up to it
        path = self.folder / f"state-{trainer.global_step:09d}.ckpt"
        self._last = time.monotonic()
        trainer.save_checkpoint(path)  # the others wait for the first process, which writes
        if is_first():
            note_cost(self.run.folder, self.run.totals())
            for old in sorted(self.folder.glob(PATTERN))[:-KEPT]:
                old.unlink(missing_ok=True)
        self._stop_if_asked(trainer)


def newest_state(folder: Path, config_hash: str) -> tuple[Path, StateContent] | None:
    """Return the newest whole state of a stage, of this configuration; say which files were passed over and why."""
    for path in sorted(folder.glob(PATTERN), reverse=True):
        content = read_state(path)
        if content is None:
            what = "torn and set aside; the state before it is used"
        elif content["config"] != config_hash:
            what = "of another run and set aside; the state before it is used"
        elif content["has_best"] and not is_whole(folder / BEST):
            what = f"set aside: the weights of the best epoch, {BEST}, are torn, and the stage is trained again"
        else:
            return path, content
        logger.warning("%s is %s.", path, what)
        path.rename(path.with_suffix(".unusable"))
    return None
