"""Stage 1: plant the attention by learning to rank tokens by their relevance (method §3).

Shape key: **B** documents · **T** token positions · **L** labels · **V** vocabulary · **A** heads · **D** width of one
head · **M** labels chosen for a document.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from plant_plugin.config import registry
from plant_plugin.config.options import Stage1Options
from plant_plugin.config.sections import Settings
from plant_plugin.networks.losses import attention_ndcg
from plant_plugin.networks.plantable import Hidden, PlantableNetwork
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, from_first, same_weights
from plant_plugin.training.inputs import Inputs
from plant_plugin.training.loop import train_stage
from plant_plugin.training.stage import Candidates, StageModule, place_of

VALIDATION_SEED = 20_240_229  # the same labels are drawn at every validation, so that epochs can be compared


class Stage1(StageModule):
    """Train the encoder and the planted part of the head; watches nDCG@K of the attention on validation documents."""

    stage = "stage1"
    log_name = "stage1"
    options: Stage1Options

    def trained_groups(self) -> dict[str, list[nn.Parameter]]:
        """Return none as ``rest``: boosts, values and classifier have no gradient here."""
        return {**super().trained_groups(), "rest": []}

    def training_loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the ranking loss summed over the chosen labels of a document, averaged over documents."""
        hidden = self.network.encode(batch)
        labels, chosen = choose_labels(Candidates.of(batch, self.network.num_labels), self.options.labels)
        relevance = relevance_of(self.network, batch, labels)
        losses = attention_loss(self.network, hidden, labels, relevance, self.options)
        return (losses * chosen).sum(dim=1).mean()

    def on_validation_epoch_start(self) -> None:
        """Forget the last epoch's values."""
        self._values: list[Tensor] = []

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Note nDCG@K of the scores against the relevance over all tokens of each document, for its chosen labels."""
        network, options = self.network, self.options
        generator = torch.Generator(device=batch["text"].device).manual_seed(VALIDATION_SEED + place_of(batch_idx))
        labels, chosen = choose_labels(Candidates.of(batch, network.num_labels), options.labels, generator)
        scores = network.scores(network.encode(batch), labels)
        values = attention_ndcg(scores, relevance_of(network, batch, labels), batch["mask"], options.k)
        if "surplus" not in batch:
            self._values.append(values[chosen].cpu())

    def on_validation_epoch_end(self) -> None:
        """Log the mean over the (document, label) pairs of all processes that have anything to rank; else 0."""
        of_all = [part for process in at_first(self._values) for part in process]
        mean = from_first(lambda: float(torch.cat(of_all).nanmean().nan_to_num()) if of_all else 0.0)
        self.keep_epoch({self.monitor: mean})


def relevance_of(network: PlantableNetwork, batch: dict[str, Tensor], labels: Tensor) -> Tensor:
    """Return the relevance (B, M, T) of a batch's tokens for chosen labels (B, M), without marks of places."""
    prior = network.relevance_of(batch, marked=False)
    if prior is None:
        raise RuntimeError("stage 1 needs a planted relevance")
    return prior.of_labels(labels)


def choose_labels(
    candidates: Candidates, wanted: int | str, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Choose the labels whose attention a document trains: all, its positives, or with random others so many.

    Returns:
        ``labels`` (B, M) ids and ``chosen`` (B, M) bool, false where a row is only filled up.
    """
    positives, real = candidates.positives, candidates.real
    batch, num_labels = positives.shape
    counts = positives.sum(dim=1)
    if wanted == "all":
        return candidates.ids(torch.arange(num_labels, device=positives.device).expand(batch, -1)), real
    most = int(counts.max()) if batch else 0
    width = max(1, min(num_labels, most if wanted == "positive" else max(most, int(wanted))))
    keys = torch.rand(batch, num_labels, device=positives.device, generator=generator)
    columns = keys.masked_fill(positives, 2.0).masked_fill(~real, -1.0).topk(width, dim=1).indices
    limit = counts if wanted == "positive" else counts.clamp(min=min(int(wanted), num_labels))
    chosen = torch.arange(width, device=positives.device) < limit[:, None]
    return candidates.ids(columns), chosen & real.gather(1, columns)


def attention_loss(
    network: PlantableNetwork, hidden: Hidden, labels: Tensor, relevance: Tensor, options: Stage1Options
) -> Tensor:
    """Return the configured loss (B, M) of the attention for chosen labels; it is handed the arguments that it has."""
    entry = registry.get("losses", options.loss, stage=1)
    has = entry.signature()
    arguments = {name: getattr(options, name) for name in ("k", "pairs") if name in has}
    criterion: Callable[..., Tensor] = entry.load()
    if "attention" in has:
        return criterion(network.attention(hidden, labels), relevance, hidden.mask, **arguments)
    probability = options.score == "probability"
    scores = network.attention(hidden, labels) if probability else network.scores(hidden, labels)
    return criterion(scores.float(), relevance, hidden.mask, **arguments)


def run_stage1(network: PlantableNetwork, inputs: Inputs, settings: Settings, run: Run) -> None:
    """Plant the attention in place; a network whose entry in the registry has a ``stage1`` is planted by that."""
    entry = registry.get("networks", settings.model_name)
    if entry.stage1 is not None:
        replace(entry, target=entry.stage1).load()(network, inputs, settings, run)
        return
    same_weights(network)
    batches = inputs.stage_batches(settings.stage1_batch_size, settings)
    module = Stage1(network, settings.stage1, settings, *batches)
    module.monitor = module.stop_on = f"attention-nDCG@{settings.stage1.k}"
    train_stage(module, run)
