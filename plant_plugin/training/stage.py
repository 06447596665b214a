"""What both stages share: the Lightning module, the optimiser's groups and the schedule."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import lightning as L
import numpy as np
import torch
from torch import Tensor, nn

from plant_plugin.config import Config
from plant_plugin.config.options import StageOptions
from plant_plugin.data.batches import Batches
from plant_plugin.errors import ConfigError
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.networks.trained_state import load_trained_state, trained_state
from plant_plugin.report.machine import bf16_is_slow
from plant_plugin.report.metric_log import Place
from plant_plugin.training.devices import count, rank
from plant_plugin.training.guards import StepGuard, in_pieces

logger = logging.getLogger(__name__)

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "sgd": torch.optim.SGD,
}
FUSED = ("adam", "adamw")  # have a compiled step on CPUs
STATE_KEY = "plant_plugin"  # our part of Lightning's checkpoint


@dataclass(frozen=True)
class Schedule:
    """How a stage trains, with LibMultiLabel's top-level keys filled in where the stage's own are empty."""

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    encoder_learning_rate: float
    attention_learning_rate: float

    @classmethod
    def of(cls, options: StageOptions, config: Config) -> Schedule:
        """Resolve a stage's options against the top-level keys."""
        rate = config.learning_rate if options.learning_rate is None else options.learning_rate
        encoder, attention = options.encoder_learning_rate, options.attention_learning_rate
        return cls(
            epochs=config.epochs if options.epochs is None else options.epochs,
            patience=config.patience if options.patience is None else options.patience,
            batch_size=config.batch_size if options.batch_size is None else options.batch_size,
            learning_rate=rate,
            encoder_learning_rate=rate if encoder is None else encoder,
            attention_learning_rate=rate if attention is None else attention,
        )


class StageModule(L.LightningModule):
    """One stage of training a network; the stages differ in their loss and in what they watch.

    Args:
        network: Trained in place.
        options: The stage's block.
        config: The whole configuration.
        train: Training batches.
        val: Validation batches, or None.
    """

    stage: str
    logs: tuple[str, ...]  # the lists of logs.json that the stage writes

    def __init__(
        self,
        network: PlantableNetwork,
        options: StageOptions,
        config: Config,
        train: Batches,
        val: Batches | None,
    ) -> None:
        super().__init__()
        self.network = network
        self.options, self.config = options, config
        self.schedule = Schedule.of(options, config)
        self.train_batches, self.val_batches = train, val
        self.epoch_metrics: dict[str, float] = {}
        self.guard = StepGuard(self.stage, config.max_skipped_steps, lambda documents: [])
        self.pieces = 1  # parts of a batch that are computed one after the other, see training/guards.py
        self._rest: list[tuple[float, dict[str, Tensor]]] = []
        self.folder = ""  # where the stage's checkpoints are
        self.state_of_run: dict[str, Any] = {}  # written into every state, see training/state.py
        self.resumed_at = (0, 0)  # epoch and batch that a resumed stage starts with
        self.say: Callable[[str], None] = print
        self.write: Callable[[Place, Mapping[str, float]], None] = lambda place, metrics: None  # to metrics.csv

    def keep(self, split: str, metrics: Mapping[str, float]) -> None:
        """Add numbers of this moment to ``metrics.csv``."""
        self.write(Place(self.stage, self.current_epoch + 1, self.global_step, split), metrics)

    def report_epoch(self) -> None:
        """Print the validation metrics of the epoch."""
        found = "  ".join(f"{name} {value:.4f}" for name, value in self.epoch_metrics.items())
        self.say(f"{self.stage} epoch {self.current_epoch + 1}/{self.schedule.epochs}: {found}")

    def trained_groups(self) -> dict[str, list[nn.Parameter]]:
        """Parameters by group: ``encoder``, ``attention`` (planted), ``rest``."""
        encoder, planted = list(self.network.backbone.parameters()), self.network.planted_parameters()
        known = {id(parameter) for parameter in (*encoder, *planted)}
        rest = [parameter for parameter in self.network.parameters() if id(parameter) not in known]
        return {"encoder": encoder, "attention": planted, "rest": rest}

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:  # type: ignore[override]
        """What Lightning's checkpoints hold: the trained tensors, never a quantised language model."""
        return {f"network.{name}": tensor for name, tensor in trained_state(self.network).items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Take back what :meth:`state_dict` gave."""
        load_trained_state(self.network, {name.removeprefix("network."): value for name, value in state_dict.items()})

    def train_dataloader(self) -> Batches:
        """The batches of this epoch; Lightning asks anew each epoch, so that a resumed run sees the same order."""
        epoch, batch = self.resumed_at
        self.train_batches.set_epoch(self.current_epoch, start=batch if self.current_epoch == epoch else 0)
        return self.train_batches

    def val_dataloader(self) -> Batches | list[Any]:
        """The validation batches; none where there is no validation split."""
        return [] if self.val_batches is None else self.val_batches

    def on_train_batch_start(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Seed each batch by itself: dropout and sampling do not depend on where a run was resumed."""
        seed_everything(self.config.seed or 0, self.current_epoch, place_of(batch_idx), 0)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what Lightning does not know."""
        checkpoint[STATE_KEY] = self.state_of_run

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """A run folder may have been moved: without this Lightning would forget the best score."""
        for callback in checkpoint["callbacks"].values():
            if "dirpath" in callback:
                callback["dirpath"] = self.folder

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """The stage's loss (), a mean over the documents of a batch."""
        raise TypeError(f"{type(self).__name__} has no loss")

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """The loss of a batch, or of its first piece where memory holds no whole batch."""
        first, *rest = in_pieces(batch, self.pieces) if self.pieces > 1 else [batch]
        documents = len(batch["document"])
        self._rest = [(len(piece["document"]) / documents, piece) for piece in rest]
        loss = self.training_loss(first)
        if "surplus" in batch:
            loss = loss * 0
        self.guard.saw(batch["document"], loss.detach())
        self.log("loss", loss, prog_bar=True)
        return loss * (len(first["document"]) / documents) if rest else loss

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Gradient of the loss; that of further pieces is added, scaled as Lightning scaled the first."""
        loss.backward()
        plugin = self.trainer.precision_plugin
        for share, piece in self._rest:
            with plugin.train_step_context():
                part = self.training_loss(piece)
            self.guard.saw(piece["document"], part.detach())
            part = part * share / self.trainer.accumulate_grad_batches
            scaler = getattr(plugin, "scaler", None)
            (part if scaler is None else scaler.scale(part)).backward()
        self._rest = []

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: Any = None,
    ) -> None:
        """Clip by norm; a step that is not finite loses its gradient, so that the optimiser leaves all as it is."""
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norm = nn.utils.clip_grad_norm_(parameters, math.inf if gradient_clip_val is None else gradient_clip_val)
        good = self.guard.finite(norm, scaled=getattr(self.trainer.precision_plugin, "scaler", None) is not None)
        if not self.trainer.strategy.reduce_boolean_decision(good):  # all processes leave out the same step
            for parameter in parameters:
                parameter.grad = None
            self.guard.skip(self.current_epoch, self.trainer.fit_loop.batch_idx)

    def configure_optimizers(self) -> Any:
        """LibMultiLabel's optimisers, a learning rate for each group, cosine or constant after a warm-up."""
        rates = {
            "encoder": self.schedule.encoder_learning_rate,
            "attention": self.schedule.attention_learning_rate,
            "rest": self.schedule.learning_rate,
        }
        groups = [
            {"name": name, "params": [one for one in parameters if one.requires_grad], "lr": rates[name]}
            for name, parameters in self.trained_groups().items()
        ]
        kind = self.config.optimizer
        extra: dict[str, Any] = {"momentum": self.config.momentum} if kind == "sgd" else {}
        if kind in FUSED and device_of(self.config).type == "cpu":
            extra["fused"] = True  # one pass over each tensor; on a GPU it would unscale fp16 gradients by itself
        optimizer = OPTIMIZERS[kind]([g for g in groups if g["params"]], weight_decay=self.config.weight_decay, **extra)
        steps = math.ceil(len(self.train_batches) * _share(self.config.limit_train_batches, len(self.train_batches)))
        total = max(1, math.ceil(steps / self.options.accumulate) * self.schedule.epochs)
        factor = learning_rate_factor(self.options.schedule, self.options.warmup, total)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def place_of(batch_idx: int) -> int:
    """Number of this process's batch in the order of one process alone."""
    return batch_idx * count() + rank()


def seed_everything(*parts: int) -> None:
    """Seed torch, numpy and Python from whole numbers; near numbers give unrelated draws."""
    drawn = int(np.random.SeedSequence(parts).generate_state(1)[0])
    torch.manual_seed(drawn)
    np.random.seed(drawn)
    random.seed(drawn)


def _share(limit: float, batches: int) -> float:
    """Lightning's ``limit_train_batches``: a share up to 1.0, or a number of batches."""
    return float(limit) if limit <= 1 else min(1.0, limit / max(1, batches))


def learning_rate_factor(schedule: str, warmup: float, steps: int) -> Callable[[int], float]:
    """What the learning rate is multiplied with at each optimiser step.

    Args:
        schedule: ``cosine`` (to zero at the last step, no restart) or ``constant``.
        warmup: Share of ``steps`` that climb linearly, in [0, 1).
        steps: Optimiser steps of the stage, at least 1.
    """
    climb = int(warmup * steps)

    def factor(step: int) -> float:
        if step < climb:
            return (step + 1) / (climb + 1)
        if schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - climb) / max(1, steps - climb))))

    return factor


def device_of(config: Config) -> torch.device:
    """The first GPU where there is one and ``cpu`` is not set, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() and not config.cpu else "cpu")


def warn_of_slow_bf16(config: Config) -> None:
    """Say so where bf16 is asked of a processor that has no instructions for it."""
    if config.precision == "bf16" and device_of(config).type == "cpu" and bf16_is_slow():
        logger.warning(
            "precision: bf16 is slower than 32 here, up to thirty times: the processor has neither AVX-512 bf16 nor AMX"
        )


def precision_of(config: Config, device: torch.device) -> Any:
    """Lightning's name of the configured precision; ``auto`` is bf16 (or fp16) on a GPU and fp32 on a CPU.

    Raises:
        ConfigError: fp16 on a CPU, which has no fast fp16 products and no loss scaling.
    """
    chosen = config.precision
    if chosen == "auto":
        if device.type == "cpu":
            return "32-true"
        return "bf16-mixed" if torch.cuda.is_bf16_supported() else "16-mixed"
    if chosen == "16" and device.type == "cpu":
        raise ConfigError("fp16 needs a GPU", where="precision", fix="use precision: bf16, 32 or auto")
    return {"32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}[chosen]


def positives_of(batch: Mapping[str, Tensor], num_labels: int) -> Tensor:
    """The labels of a batch, (B, L) bool; they are sparse up to here."""
    positives = torch.zeros(len(batch["text"]), num_labels, dtype=torch.bool, device=batch["text"].device)
    positives[batch["label_row"], batch["label_column"]] = True
    return positives
