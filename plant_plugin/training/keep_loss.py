"""The training loss and the learning rate in ``metrics.csv``, every few steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning.pytorch.callbacks import Callback

if TYPE_CHECKING:
    import lightning as L

    from plant_plugin.training.stage import StageModule

EVERY = 10  # optimiser steps


class KeepLoss(Callback):
    """Writes the loss of the batch that completed a step; by the step's number, so that resumed runs write the same."""

    def on_train_batch_end(self, trainer: L.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Write where a step has just been done."""
        module: StageModule = pl_module
        if (batch_idx + 1) % trainer.accumulate_grad_batches and not trainer.is_last_batch:
            return
        if trainer.global_step % EVERY == 0:
            rates = {f"learning_rate_{group['name']}": group["lr"] for group in trainer.optimizers[0].param_groups}
            module.keep("train", {"loss": float(trainer.callback_metrics["loss"]), **rates})
