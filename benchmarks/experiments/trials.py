"""Choices that PLANT does not offer, made for an experiment: the ``trial`` of a variant names one of these functions.

Each gives a context in which PLANT trains so; what does not pay stays out of the package.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from plant_plugin.losses import focal
from plant_plugin.training import stage1, stage2, strategies
from plant_plugin.training.module import positives_of
from plant_plugin.training.stage2 import Stage2

# The ranking loss of a document is some ten thousand times its focal loss.
RANKING_SHARE = 1e-5


def frozen_attention() -> AbstractContextManager[Any]:
    """The planted parameters do not move in the first epoch of stage 2."""
    clip = Stage2.configure_gradient_clipping

    def without_attention(self: Stage2, optimizer: torch.optim.Optimizer, *limits: Any, **named: Any) -> None:
        if self.current_epoch == 0:
            for parameter in self.network.planted_parameters():
                parameter.grad = None
        clip(self, optimizer, *limits, **named)

    return mock.patch.object(Stage2, "configure_gradient_clipping", without_attention)


def ranking_in_stage2() -> AbstractContextManager[Any]:
    """Stage 1's loss stays in stage 2, with a weight that falls linearly to zero."""

    def both(self: Stage2, batch: dict[str, Tensor]) -> Tensor:
        hidden, positives = self.network.encode(batch), positives_of(batch, self.network.num_labels)
        steps = len(self.train_batches) * self.schedule.epochs
        weight = RANKING_SHARE * max(0.0, 1 - self.global_step / steps)
        options = self.config.stage1
        labels, chosen = stage1.choose_labels(positives, options.labels)
        relevance = self.network.relevance_of(batch["text"])
        assert relevance is not None
        ranking = stage1.attention_loss(self.network, hidden, labels, relevance.of_labels(labels), options)
        return self._loss(hidden, positives) + weight * (ranking * chosen).sum(dim=1).mean()

    return mock.patch.object(Stage2, "training_loss", both)


def labels_by_relevance() -> AbstractContextManager[Any]:
    """In stage 1 a label counts by how much of its relevance the document holds; the mean weight is 1."""
    loss = stage1.attention_loss

    def weighed(network: Any, hidden: Any, labels: Tensor, relevance: Tensor, options: Any) -> Tensor:
        held = (relevance * hidden.mask[:, None, :]).sum(dim=2)  # (B, M)
        return loss(network, hidden, labels, relevance, options) * held / held.mean().clamp(min=1e-9)

    return mock.patch.object(stage1, "attention_loss", weighed)


def ranks_what_the_prior_leaves() -> AbstractContextManager[Any]:
    """Stage 1 ranks words by attention with the prior in it, so that the prior need not be learned again."""
    loss = stage1.lambda_rank_loss

    def attention_loss(network: Any, hidden: Any, labels: Tensor, relevance: Tensor, options: Any) -> Tensor:
        scores = network.attention(hidden, labels, with_prior=True).clamp(min=1e-12).log()
        return loss(scores.float(), relevance, hidden.mask, k=options.k, sigma=options.sigma, pairs=options.pairs)

    return mock.patch.object(stage1, "attention_loss", attention_loss)


def smoothed_positives() -> AbstractContextManager[Any]:
    """Label smoothing takes from positives only: 1 − ε instead of 1, and 0 stays 0."""

    def loss(logits: Tensor, target: Tensor, gamma: float = 2.0, label_smoothing: float = 0.1) -> Tensor:
        plain = focal_loss(logits, target, gamma, 0.0)
        negative = focal_loss(logits, torch.zeros_like(target), gamma, 0.0)
        return plain + target * label_smoothing * (negative - plain)

    focal_loss = focal.focal_loss
    return mock.patch.object(focal, "focal_loss", loss)


def asymmetric_loss() -> AbstractContextManager[Any]:
    """Ridnik et al. 2021: γ 0 for positives and 4 for negatives, whose probability is lowered by 0.05 first."""

    def loss(logits: Tensor, target: Tensor, gamma: float = 0.0, label_smoothing: float = 0.0) -> Tensor:
        probability = (logits.sigmoid() - 0.05).clamp(min=0)
        negative = -(probability**4) * torch.log1p(-probability)
        return torch.where(target > 0, -functional.logsigmoid(logits), negative)

    return mock.patch.object(focal, "focal_loss", loss)


def negatives_of_the_batch() -> AbstractContextManager[Any]:
    """Every document of a batch is trained on the labels that any of them has or finds hard."""
    of_documents = focal.hard_negatives

    def union(scores: Tensor, positives: Tensor, count: int) -> tuple[Tensor, Tensor]:
        labels, chosen = of_documents(scores, positives, count)
        together = labels[chosen].unique()
        return together.expand(len(scores), -1), torch.ones(len(scores), len(together), dtype=torch.bool)

    return mock.patch.object(stage2, "hard_negatives", union)


def frequency_bias() -> AbstractContextManager[Any]:
    """Logits start from the logarithm of a label's odds in training, less what is common to all labels."""
    run = stage2.run_stage2

    def with_bias(network: Any, prepared: Any, config: Any, of_run: Any) -> None:
        labels = prepared.labels["train"]
        share = (np.asarray(labels.sum(axis=0)).ravel() + 0.5) / (labels.shape[0] + 1)
        odds = torch.from_numpy(np.log(share / (1 - share)).astype(np.float32))
        bias, logits, selected = odds - odds.mean(), network.logits, network.selected_logits
        network.logits = lambda hidden: logits(hidden) + bias
        network.selected_logits = lambda hidden, labels: selected(hidden, labels) + bias[labels]
        run(network, prepared, config, of_run)

    return mock.patch.object(strategies, "run_stage2", with_bias)
