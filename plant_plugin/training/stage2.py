"""Stage 2: everything trains end to end, on positives and hard negatives (method §4)."""

from __future__ import annotations

import torch
from torch import Tensor

from plant_plugin.config import registry
from plant_plugin.config.options import Stage2Options
from plant_plugin.config.sections import Settings
from plant_plugin.networks.losses import WORTH_SELECTING, reduce_selected
from plant_plugin.networks.plantable import Hidden, PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, from_first
from plant_plugin.training.inputs import Floats, Inputs, Places
from plant_plugin.training.loop import train_stage
from plant_plugin.training.stage import Candidates, StageModule


class Stage2(StageModule):
    """Train the whole network; watches LibMultiLabel's ``monitor_metrics`` on validation documents."""

    stage = "stage2"
    log_name = "val"
    options: Stage2Options
    inputs: Inputs

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the loss over each document's positives and hard negatives, or over all labels."""
        return self._loss(self.network.encode(batch), Candidates.of(batch, self.network.num_labels))

    def _loss(self, hidden: Hidden, candidates: Candidates) -> Tensor:
        """Return the loss; of networks that train apart its sum, so that each has its own gradient."""
        return torch.stack([self._loss_of(*member, candidates) for member in self.network.members(hidden)]).sum()

    def _loss_of(self, network: PlantableNetwork, hidden: Hidden, candidates: Candidates) -> Tensor:
        options, positives, num_labels = self.options, candidates.positives, self.network.num_labels
        criterion = registry.get("losses", options.loss, stage=2).load()
        count, available = options.hard_negatives, positives.shape[1]
        most = available if count is None else int(positives.sum(dim=1).max()) + count
        if count is None or most > WORTH_SELECTING * available:
            logits, target, chosen = candidates.logits(network, hidden), positives, candidates.real
            if count is not None:
                columns, chosen = candidates.hardest(logits.detach(), count)
                logits, target = logits.gather(1, columns), positives.gather(1, columns)
        else:  # fact 4: all labels are scored without a gradient, the selected ones again with one
            with torch.no_grad():
                scores = candidates.logits(network, hidden)
            columns, chosen = candidates.hardest(scores, count)
            target = positives.gather(1, columns)
            logits = network.selected_logits(hidden, candidates.ids(columns))
        losses = criterion(logits.float(), target.float(), gamma=options.gamma, label_smoothing=options.label_smoothing)
        return reduce_selected(losses, chosen, num_labels, options.reduction)

    def on_validation_epoch_start(self) -> None:
        """Make a new evaluator for the epoch."""
        settings = self.settings
        self._evaluator = self.inputs.documents.evaluator(settings.monitor_metrics, "val", settings)

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Score the labels; the first process gathers the scores, batch by batch in the order of a single process."""
        for scores, documents, loss in at_first(None if "surplus" in batch else self._scored(batch)):
            truth = self.inputs.documents.labels["val"][documents]
            self._evaluator.update(self.inputs.placed("val", documents, scores), truth, documents, loss=loss)

    def _scored(self, batch: dict[str, Tensor]) -> tuple[Floats, Places, float | None]:
        hidden, loss = self.network.encode(batch), None
        if self.inputs.shortlists.scores:
            logits = self.network.selected_logits(hidden, batch["shortlist"])
        else:
            logits = self.network.batch_logits(batch, hidden)
        if "Loss" in self.settings.monitor_metrics:
            loss = float(self._loss(hidden, Candidates.of(batch, self.network.num_labels)))
        return logits.float().cpu().numpy(), batch["document"].cpu().numpy(), loss

    def on_validation_epoch_end(self) -> None:
        """Log the metrics to Lightning and to ``logs.json``."""
        self.keep_epoch(from_first(self._evaluator.compute))


def run_stage2(network: PlantableNetwork, inputs: Inputs, settings: Settings, run: Run) -> None:
    """Train the whole network in place."""
    module = Stage2(network, settings.stage2, settings, *inputs.stage_batches(settings.batch_size, settings))
    module.rates = settings.stage2
    module.inputs, module.monitor = inputs, settings.val_metric
    module.stop_on = settings.stop_on
    train_stage(module, run)
