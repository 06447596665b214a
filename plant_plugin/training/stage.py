"""Train a stage under Lightning: the module of both stages, the optimiser's groups and the schedule."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from plant_plugin.training import quick_lightning  # noqa: F401 before Lightning

# isort: split
import lightning as L
import numpy as np
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn
from torch.optim import Optimizer

from plant_plugin.config.options import Stage2Options, StageOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.batches import Batches, move
from plant_plugin.errors import ConfigError
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.losses import hard_negatives
from plant_plugin.networks.plantable import Hidden, PlantableNetwork
from plant_plugin.networks.trained_state import load_trained_state, trained_state
from plant_plugin.report.logs import append_log
from plant_plugin.report.metric_log import Place
from plant_plugin.report.run import Run
from plant_plugin.training.devices import count, device_of, is_first, rank
from plant_plugin.training.guards import StepGuard, in_pieces
from plant_plugin.training.rows import RowAdam, RowAdamW, clip_norm
from plant_plugin.training.run_settings import taken

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "sgd": torch.optim.SGD,
}
TOUCHED: dict[str, Callable[..., Optimizer]] = {"adam": RowAdam, "adamw": RowAdamW}
CYCLES = {"slanted_triangular": (0.1, 1 / 32), "one_cycle": (0.25, 1 / 25)}  # share that climbs, and from what


class StageModule(L.LightningModule):
    """One stage of training a network in place; the stages differ in their loss and in what they watch."""

    stage: str
    log_name: str  # the list of `logs.json` that the stage writes
    run: Run  # its folder receives numbers and states
    monitor: str  # the validation metric that chooses the best weights; `Loss` is minimised, all else maximised
    stop_on: str  # that of the early stopping
    rates = Stage2Options()  # schedule and layers' rates, which are keys of stage 2; stage 1 has their defaults

    def __init__(
        self, network: PlantableNetwork, options: StageOptions, settings: Settings, train: Batches, val: Batches | None
    ) -> None:
        super().__init__()
        self.network = network
        self.options, self.settings = options, settings
        self.epochs, self.batch_size = options.epochs or settings.epochs, train.batch_size
        self.patience = settings.patience if options.patience is None else options.patience
        self.train_batches, self.val_batches = train, val
        self.guard = StepGuard(self.stage)
        self.pieces = 1  # parts of a batch that are computed one after the other, see training/guards.py
        self._rest: list[tuple[float, dict[str, Tensor]]] = []
        self.resumed_at = (0, 0)  # epoch and batch that a resumed stage starts with
        self._tried_largest = False

    def keep(self, split: str, metrics: Mapping[str, float]) -> None:
        """Add numbers of this moment to ``metrics.csv``."""
        if is_first():
            self.run.metrics.write(Place(self.stage, self.current_epoch + 1, self.global_step, split), metrics)

    def keep_epoch(self, metrics: dict[str, float]) -> None:
        """Write what validation found to Lightning, ``logs.json``, ``metrics.csv`` and the screen."""
        self.log_dict(metrics, prog_bar=True)
        if is_first():
            append_log(self.run.log_path, self.log_name, metrics)
        self.keep("val", metrics)
        shown = "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        self.run.log(f"{self.stage} epoch {self.current_epoch + 1}/{self.epochs}: {shown}")

    def trained_groups(self) -> dict[str, list[nn.Parameter]]:
        """Return parameters by group: ``encoder``, ``attention`` (planted), ``rest``."""
        encoder, planted = list(self.network.backbone.parameters()), self.network.planted_parameters()
        known = {id(parameter) for parameter in (*encoder, *planted)}
        rest = [parameter for parameter in self.network.parameters() if id(parameter) not in known]
        return {"encoder": encoder, "attention": planted, "rest": rest}

    def layered_groups(self) -> dict[str, list[nn.Parameter]]:
        """Return these groups, the encoder by layers where these learn at different rates or from different epochs on.

        They are called ``encoder_0``, the lowest, and so on; those that wait for their epoch are frozen.
        """
        groups, rates = self.trained_groups(), self.rates
        if rates.rate_decay is None and rates.unfreeze_every is None:
            return groups
        layers = getattr(self.network.backbone, "layers", None)
        if layers is None:
            what, fix = "this encoder does not show its layers", "leave out rate_decay and unfreeze_every"
            raise ConfigError(what, where=self.stage, fix=fix)
        stacks = layers() if groups.pop("encoder") else []
        return {**{f"encoder_{place}": stack for place, stack in enumerate(stacks)}, **groups}

    def _thaw(self, *, whole: bool = False) -> None:
        """Let one layer more train every so many epochs, from the top; the rest trains from the first epoch on.

        Source: Howard and Ruder 2018, section 3.3 (gradual unfreezing).
        """
        if self.rates.unfreeze_every is None:
            return
        layers = [stack for name, stack in self.layered_groups().items() if name.startswith("encoder_")]
        frozen = 0 if whole else len(layers) - self.current_epoch // self.rates.unfreeze_every
        for place, stack in enumerate(layers):
            for parameter in stack:
                parameter.requires_grad_(place >= frozen)

    def on_train_end(self) -> None:
        """Leave nothing frozen."""
        self._thaw(whole=True)

    def state_dict(self, *args: object, **kwargs: object) -> dict[str, Tensor]:  # type: ignore[override]
        """Return what Lightning's checkpoints hold: the trained tensors, never a quantised language model."""
        return trained_state(self.network)

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True, assign: bool = False) -> None:
        """Load what :meth:`state_dict` gave."""
        load_trained_state(self.network, state_dict)

    def train_dataloader(self) -> Batches:
        """Return the batches of this epoch; Lightning asks each epoch, so that a resumed run sees the same order."""
        epoch, batch = self.resumed_at
        self.train_batches.set_epoch(self.current_epoch, start=batch if self.current_epoch == epoch else 0)
        return self.train_batches

    def val_dataloader(self) -> Batches | list[object]:
        """Return the validation batches; none where there is no validation split."""
        return [] if self.val_batches is None else self.val_batches

    def on_train_batch_start(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Seed each batch by itself: dropout and sampling do not depend on where a run was resumed."""
        if self.global_step == 1 and not self._tried_largest:
            self._try_largest()
            self._tried_largest = True
        self._thaw()  # here, because a resumed epoch does not start
        parts = (self.settings.seed or 0, self.current_epoch, place_of(batch_idx), 0)
        drawn = int(np.random.SeedSequence(parts).generate_state(1)[0])  # near numbers give unrelated draws
        torch.manual_seed(drawn)
        np.random.seed(drawn)
        random.seed(drawn)

    def _try_largest(self) -> None:
        """Compute the gradient of the largest batch and forget it, so that a lack of memory shows at once.

        After the first step the optimiser has its moments, and a state is saved from which the stage resumes with less.
        """
        self._thaw(whole=True)
        self.zero_grad()
        statistics = [
            (buffer, buffer.clone())
            for layer in self.network.modules()
            if hasattr(layer, "running_mean")
            for buffer in layer.buffers(recurse=False)
        ]
        for piece in in_pieces(move(self.train_batches.largest(), self.device), self.pieces):
            with self.trainer.precision_plugin.train_step_context():
                loss = self._counted_loss(piece)
            loss.backward()
        self.guard.forget()
        self.zero_grad()
        for buffer, value in statistics:
            buffer.copy_(value)

    def on_load_checkpoint(self, checkpoint: dict[str, dict[str, dict[str, object]]]) -> None:
        """Name the folder anew, as a run may have been moved: Lightning would forget the best score."""
        for callback in checkpoint["callbacks"].values():
            if "dirpath" in callback:
                callback["dirpath"] = str(self.run.folder / self.stage)

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the stage's loss (), a mean over the documents of a batch."""
        raise NotImplementedError

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """Return the loss of a batch, or of its first piece where memory holds no whole batch."""
        first, *rest = in_pieces(batch, self.pieces) if self.pieces > 1 else [batch]
        documents = len(batch["document"])
        self._rest = [(len(piece["document"]) / documents, piece) for piece in rest]
        loss = self._counted_loss(first)
        self.log("loss", loss, prog_bar=True)
        return loss * (len(first["document"]) / documents)

    def _counted_loss(self, piece: dict[str, Tensor]) -> Tensor:
        """Return the loss of what is computed at once, which the guard sees; 0 for documents of another process."""
        loss = self.training_loss(piece)
        if "surplus" in piece:
            loss = loss * 0
        self.guard.saw(loss.detach())
        return loss

    def backward(self, loss: Tensor, *args: object, **kwargs: object) -> None:
        """Compute the gradient of the loss; that of further pieces is added, scaled as Lightning scaled the first."""
        loss.backward()
        plugin = self.trainer.precision_plugin
        for share, piece in self._rest:
            with plugin.train_step_context():
                part = self._counted_loss(piece) * share / self.trainer.accumulate_grad_batches
            scaler = getattr(plugin, "scaler", None)
            (part if scaler is None else scaler.scale(part)).backward()
        self._rest = []

    def configure_gradient_clipping(
        self, optimizer: Optimizer, gradient_clip_val: float | None = None, gradient_clip_algorithm: object = None
    ) -> None:
        """Clip by norm; a step that is not finite loses its gradient, so that the optimiser leaves all as it is."""
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        norm = clip_norm(parameters, math.inf if gradient_clip_val is None else gradient_clip_val)
        good = self.guard.finite(norm, scaled=getattr(self.trainer.precision_plugin, "scaler", None) is not None)
        if not self.trainer.strategy.reduce_boolean_decision(good):  # all processes leave out the same step
            for parameter in parameters:
                parameter.grad = None
            self.guard.skip(self.current_epoch, self.trainer.fit_loop.batch_idx)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        """Return LibMultiLabel's optimiser with a learning rate for each group, cosine or constant after a warm-up.

        A group whose parameters learn at different rates is several, ``attention_x0.0884`` and so on.
        """
        options, settings = self.options, self.settings
        rate = options.learning_rate or settings.learning_rate
        rates = {"encoder": options.encoder_learning_rate, "attention": self.rates.planted_learning_rate, "rest": rate}
        groups, layered, factors = [], self.layered_groups(), self.network.rate_factors()
        top = sum(name.startswith("encoder_") for name in layered)
        for name, parameters in layered.items():
            kind, _, place = name.partition("_")
            group_rate = rates[kind]
            learning_rate = rate if group_rate is None else group_rate
            if place:
                learning_rate /= (self.rates.rate_decay or 1.0) ** (top - int(place))
            trained = [weights for weights in parameters if weights.requires_grad]
            for times in sorted({factors.get(weights, 1.0) for weights in trained}):
                part = [weights for weights in trained if factors.get(weights, 1.0) == times]
                called = name if times == 1 else f"{name}_x{times:.3g}"
                groups.append({"name": called, "params": part, "lr": learning_rate * times})
        kind = settings.optimizer
        extra: dict[str, float] = {"momentum": settings.momentum} if kind == "sgd" else {}
        if kind in TOUCHED and device_of(settings).type == "cpu":
            # These have a compiled step, one pass over each tensor; on a GPU it would unscale fp16 gradients by itself.
            extra["fused"] = True
        touched = settings.shortlist.rows == "touched"
        for head in self.network.modules():
            if isinstance(head, LabelAttentionHead):
                head.touched_rows = touched
        optimizer = (TOUCHED if touched else OPTIMIZERS)[kind](groups, weight_decay=settings.weight_decay, **extra)
        batches = taken(settings, "train", len(self.train_batches))
        total = max(1, math.ceil(batches / settings.accumulate) * self.epochs)
        factor = learning_rate_factor(self.rates.schedule, self.rates.warmup, total)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def place_of(batch_idx: int) -> int:
    """Return the number of this process's batch in the order of a single process."""
    return batch_idx * count() + rank()


def learning_rate_factor(schedule: str, warmup: float, steps: int) -> Callable[[int], float]:
    """Return the factor of the learning rate at each of a stage's optimiser steps.

    A share of them, ``warmup`` in [0, 1), climbs linearly; ``cosine`` then falls to zero at the last step.
    ``slanted_triangular`` climbs from 1/32 over a tenth of the steps and falls back to it, both linearly (Howard and
    Ruder 2018, equation 3); ``one_cycle`` climbs from 1/25 over a quarter and falls to zero, both by a cosine (Smith
    2018, as fast.ai has it). These two take no warm-up.
    """
    if schedule in CYCLES:
        share, lowest = CYCLES[schedule]
        top = max(1, int(share * steps))

        def cycle(step: int) -> float:
            past = min(1.0, (step - top) / max(1, steps - top))
            if schedule == "slanted_triangular":
                height = step / top if step < top else 1 - past
                return lowest + (1 - lowest) * height
            climbed = 0.5 * (1 - math.cos(math.pi * step / top))
            return lowest + (1 - lowest) * climbed if step < top else 0.5 * (1 + math.cos(math.pi * past))

        return cycle
    climb = int(warmup * steps)

    def factor(step: int) -> float:
        if step < climb:
            return (step + 1) / (climb + 1)
        if schedule == "constant":
            return 1.0
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - climb) / max(1, steps - climb))))

    return factor


class Candidates(NamedTuple):
    """The labels that a batch trains on: all, or those of each document's shortlist and its own."""

    labels: Tensor | None  # (B, M) ids; None: all, M = L
    positives: Tensor  # (B, M) bool
    real: Tensor  # (B, M) bool, false where a row is only filled up

    @classmethod
    def of(cls, batch: Mapping[str, Tensor], num_labels: int) -> Candidates:
        """Return those of a batch; a document's own labels that its shortlist lacks come after it."""
        if "shortlist" not in batch:
            positives = torch.zeros(len(batch["text"]), num_labels, dtype=torch.bool, device=batch["text"].device)
            positives[batch["label_row"], batch["label_column"]] = True  # they are sparse up to here
            return cls(None, positives, torch.ones_like(positives))
        listed, rows = batch["shortlist"], batch["label_row"]
        pairs = rows * num_labels + batch["label_column"]  # a document's labels are few: nothing here has L columns
        places = torch.arange(len(listed), device=listed.device)[:, None] * num_labels + listed
        missed = ~torch.isin(pairs, places)
        rows, counts = rows[missed], torch.bincount(rows[missed], minlength=len(listed))
        column = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
        more = torch.arange(int(counts.max()), device=rows.device) < counts[:, None]  # (B, most that a document misses)
        labels = torch.zeros_like(more, dtype=torch.int64)
        labels[rows, column] = batch["label_column"][missed]
        listed_own = torch.isin(places, pairs)
        real = torch.cat([torch.ones_like(listed_own), more], dim=1)
        return cls(torch.cat([listed, labels], dim=1), torch.cat([listed_own, more], dim=1), real)

    def logits(self, network: PlantableNetwork, hidden: Hidden) -> Tensor:
        """Return logits (B, M) of all of them."""
        return network.logits(hidden) if self.labels is None else network.selected_logits(hidden, self.labels)

    def hardest(self, scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """Return columns (B, W) of positives and ``count`` negatives that score (B, M) highest; which are real."""
        columns, chosen = hard_negatives(scores.masked_fill(~self.real, -math.inf), self.positives, count)
        return columns, chosen & self.real.gather(1, columns)

    def ids(self, columns: Tensor) -> Tensor:
        """Return the labels of columns (B, W)."""
        return columns if self.labels is None else self.labels.gather(1, columns)
