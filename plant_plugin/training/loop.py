"""One stage under Lightning's trainer: its callbacks, where it goes on from, and the best weights at the end."""

from __future__ import annotations

import gc
import logging
import warnings
from typing import Any

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint, TQDMProgressBar

from plant_plugin.errors import PlantError
from plant_plugin.networks.kernels.label_attention import halve_blocks
from plant_plugin.report.logs import shorten_log
from plant_plugin.report.record import note_best_epoch, note_skipped_steps
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, from_first, is_first, same_weights, trainer_settings
from plant_plugin.training.guards import out_of_memory
from plant_plugin.training.resume import interrupted, stopped
from plant_plugin.training.stage import StageModule, device_of, precision_of
from plant_plugin.training.state import KeepState, WholeFiles, newest_state

BEST = "best.ckpt"
LOSS_EVERY = 10  # optimiser steps


def train_stage(module: StageModule, run: Run, monitor: str, stop_on: str) -> None:
    """Train a stage, from its last state where the run is resumed; afterwards the network holds the best weights.

    Args:
        module: The stage.
        run: Its folder receives ``<stage>/state-<step>.ckpt`` and ``<stage>/best.ckpt``.
        monitor: Validation metric that chooses the best weights; ``Loss`` is minimised, all else maximised.
        stop_on: Validation metric of the early stopping.

    Raises:
        PlantError: Too many steps were not finite, or memory does not suffice for one document.
        Interrupted: Ctrl-C; says how to resume.
        Stopped: SIGTERM; the state is saved.
    """
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)  # its advertisements and remarks on limits of 1.0
    module.say, module.folder = run.log, str(run.folder / module.stage)
    if is_first():
        module.write = run.metrics.write
    resumed = bool(module.config.resume)
    while not _fitted(module, run, monitor, stop_on, resumed=resumed):
        resumed = True
    if run.stop_asked:
        raise stopped(module.config, run)
    if module.guard.skipped and is_first():
        note_skipped_steps(run.folder, module.stage, module.guard.skipped)
    best = run.folder / module.stage / BEST
    if is_first() and best.is_file():
        content = torch.load(best, map_location="cpu", weights_only=True)
        module.load_state_dict(content["state_dict"])
        note_best_epoch(run.folder, module.stage, content["epoch"] + 1)
    same_weights(module.network)


def _fitted(module: StageModule, run: Run, monitor: str, stop_on: str, *, resumed: bool) -> bool:
    """Train until the stage has ended; false where memory ran out and the next try needs less of it."""
    module.train()  # pretrained models come in evaluation mode, without dropout, and Lightning leaves them so
    module.guard.forget()
    folder = run.folder / module.stage
    keep_state = KeepState(folder, module.config, run)
    found = from_first(lambda: newest_state(folder, module.config.hash())) if resumed else None
    if is_first():
        shorten_log(module.config.log_path, dict.fromkeys(module.logs, 0) if found is None else found.log_lengths)
        run.metrics.go_on(module.stage, 0 if found is None else found.step)
    if found is not None:
        module.resumed_at = (found.epoch, found.batch)
        module.guard.skipped, module.pieces = found.skipped, max(module.pieces, found.pieces)
        keep_state.has_ended = found.has_ended
        run.log(f"{module.stage} goes on behind step {found.step}")
    trainer = _trainer(module, run, monitor, stop_on, keep_state)
    with warnings.catch_warnings(), run.stopping_by_itself():
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*in eval mode at the start of training.*")  # a frozen encoder
        warnings.filterwarnings("ignore", message=".*Checkpoint directory .* exists and is not empty.*")
        warnings.filterwarnings("ignore", message=".*It is recommended to use .*sync_dist.*")  # metrics are the same
        warnings.filterwarnings("ignore", message=".*Total length of `list` across ranks is zero.*")  # no validation
        warnings.filterwarnings("ignore", message=".*your dataloader is not resumable.*")  # it is: resumed_at
        try:
            trainer.fit(module, ckpt_path=None if found is None else str(found.path), weights_only=True)
        except SystemExit as stop:  # how Lightning ends after Ctrl-C
            raise interrupted(module.config, run) from stop
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            reason = error
        else:
            return True
    del trainer
    if count() > 1:  # the others are in the middle of a step
        fix = "lower batch_size and raise accumulate, or give batch_tokens; one device alone lowers them by itself"
        raise PlantError("out of memory on one of several devices", where=module.stage, fix=fix) from reason
    done = _lighten(module)
    if done is None:
        raise PlantError(
            "memory does not suffice for one document",
            where=module.stage,
            fix="lower max_seq_length or the network's size, or stage1.labels",
        ) from reason
    run.log(f"{module.stage}: out of memory; {done}, and the stage goes on behind the last step saved")
    return False


def _lighten(module: StageModule) -> str | None:
    """Make a stage need less memory: first halve the blocks of labels (twice), then cut batches into more pieces.

    Returns:
        What was done; None where nothing is left to try.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if halve_blocks():
        return "blocks of labels are halved"
    if module.pieces >= (module.options.batch_tokens or module.schedule.batch_size):  # a piece is one document
        return None
    module.pieces *= 2
    if module.val_batches is not None:
        module.val_batches.batch_size = max(1, module.val_batches.batch_size // 2)
    return f"each batch is computed in {module.pieces} pieces whose gradients add up"


def _trainer(module: StageModule, run: Run, monitor: str, stop_on: str, keep_state: KeepState) -> L.Trainer:
    """A Lightning trainer that keeps the best weights by ``monitor`` and the state to resume from."""
    config, callbacks = module.config, list[Callback]()
    if module.val_batches is not None:
        mode = {name: "min" if name == "Loss" else "max" for name in (monitor, stop_on)}
        callbacks.append(
            ModelCheckpoint(
                dirpath=keep_state.folder, filename="best", monitor=monitor, mode=mode[monitor], save_weights_only=True,
                enable_version_counter=False,
            )
        )  # fmt: skip
        callbacks.append(EarlyStopping(stop_on, mode=mode[stop_on], patience=module.schedule.patience, strict=True))
    callbacks.append(KeepLoss())  # before the state, which is of the time behind it
    callbacks.append(keep_state)  # behind `best`, so that the state to resume from knows this epoch's best score
    if not config.silent:
        callbacks.append(TQDMProgressBar(refresh_rate=10))
    device = device_of(config)
    return L.Trainer(
        accelerator="gpu" if device.type == "cuda" else "cpu",
        **trainer_settings(config),
        precision=precision_of(config, device),
        max_epochs=run.stop_after.get(module.stage, module.schedule.epochs),
        callbacks=callbacks,
        plugins=[WholeFiles()],
        accumulate_grad_batches=module.options.accumulate,
        gradient_clip_val=module.options.clip_norm,
        gradient_clip_algorithm="norm",
        limit_train_batches=config.limit_train_batches,
        limit_val_batches=config.limit_val_batches,
        logger=False,
        num_sanity_val_steps=0,
        reload_dataloaders_every_n_epochs=1,
        enable_model_summary=False,
        enable_progress_bar=not config.silent,
        default_root_dir=run.folder,
    )


class KeepLoss(Callback):
    """Writes loss and rates into ``metrics.csv`` every few steps, by their number: resumed runs write the same."""

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Write where a step has just been done."""
        module: StageModule = pl_module
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        if trainer.global_step % LOSS_EVERY == 0:
            rates = {f"learning_rate_{group['name']}": group["lr"] for group in trainer.optimizers[0].param_groups}
            module.keep("train", {"loss": float(trainer.callback_metrics["loss"]), **rates})
