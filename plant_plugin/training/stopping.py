"""Which epoch of a stage is the best, and when its training ends."""

from __future__ import annotations

from pathlib import Path

import lightning as L
from lightning.pytorch.callbacks import Callback, EarlyStopping, ModelCheckpoint
from torch import Tensor
from typing_extensions import override

from plant_plugin.training.stage import StageModule


def judges(module: StageModule, folder: Path) -> list[Callback]:
    """Return what keeps the best weights by ``module.monitor`` and ends the stage by ``module.stop_on``."""
    best_mode, stop_mode = ("min" if name == "Loss" else "max" for name in (module.monitor, module.stop_on))
    best = Best(folder, "best", module.monitor, mode=best_mode, save_weights_only=True, enable_version_counter=False)
    return [best, Patience(module.stop_on, stop_mode, module.patience)]


class Best(ModelCheckpoint):
    """Keep the best weights; while the metric has been 0 in every epoch, which says nothing, the newest."""

    @override
    def check_monitor_top_k(self, trainer: L.Trainer, current: Tensor | None = None) -> bool:
        is_better = super().check_monitor_top_k(trainer, current)
        return is_better or (self.mode == "max" and bool(current == 0 == self.best_model_score))


class Patience(EarlyStopping):
    """End a stage after so many epochs without a better metric, of which those at 0 do not count while it learns.

    F1 at a threshold is 0 until the first label passes it, and training would end before. An epoch at 0 counts only
    where no other monitored metric is better than in all epochs before.
    """

    def __init__(self, monitor: str, mode: str, patience: int) -> None:
        super().__init__(monitor, mode=mode, patience=patience, check_on_train_epoch_end=True)
        self._highest: dict[str, float] = {}

    @override
    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        values = {name: float(value) for name, value in trainer.callback_metrics.items() if name.lower() != "loss"}
        better = {name: value for name, value in values.items() if value > self._highest.get(name, 0)}
        self._highest |= better
        if not better or values.get(self.monitor) != 0:
            super().on_train_epoch_end(trainer, pl_module)

    @override
    def state_dict(self) -> dict[str, object]:
        return {**super().state_dict(), "highest": self._highest}

    @override
    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        super().load_state_dict(state_dict)
        highest = state_dict["highest"]
        assert isinstance(highest, dict)
        self._highest = highest
