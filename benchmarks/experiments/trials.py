"""Choices that PLANT does not offer, made for an experiment: the ``trial`` of a variant names one of these functions.

Each gives a context in which PLANT trains so; what does not pay stays out of the package.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from plant_plugin.config import registry
from plant_plugin.data.batches import move
from plant_plugin.networks import losses
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.relevance import Relevance, phrases
from plant_plugin.report.logs import append_log
from plant_plugin.training import closed_form, prepare, stage1, stage2
from plant_plugin.training import run as training_run
from plant_plugin.training.stage import positives_of
from plant_plugin.training.stage2 import Stage2

# The ranking loss of a document is some ten thousand times its focal loss.
RANKING_SHARE = 1e-5
WATCHED, WATCHED_SEED = 500, 20_240_301  # the same training documents are watched in every run
COMMON = 0.01  # share of the training documents
STOP_WORDS = 0.4  # share of the training documents


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
        steps = len(self.train_batches) * self.epochs
        weight = RANKING_SHARE * max(0.0, 1 - self.global_step / steps)
        options = self.config.stage1
        labels, chosen = stage1.choose_labels(positives, options.labels)
        relevance = self.network.relevance_of(batch)
        assert relevance is not None
        ranking = stage1.attention_loss(self.network, hidden, labels, relevance.of_labels(labels), options)
        return self._loss(hidden, positives) + weight * (ranking * chosen).sum(dim=1).mean()

    return mock.patch.object(Stage2, "training_loss", both)


def labels_by_relevance() -> AbstractContextManager[Any]:
    """In stage 1 a label counts by how much of its relevance the document's words hold; the mean weight is 1.

    For networks with a prior.
    """
    loss = stage1.attention_loss

    def weighed(network: Any, hidden: Any, labels: Tensor, relevance: Tensor, options: Any) -> Tensor:
        words = hidden.prior.columns  # (B, T): a word counts once, where it stands first
        repeats = (words[:, :, None] == words[:, None, :]).tril(-1).any(dim=2) | ~hidden.mask
        of_labels = torch.from_numpy(np.asarray(network._relevance._by_token.sum(axis=0)).ravel())
        held = (relevance * ~repeats[:, None, :]).sum(dim=2) / of_labels[labels].clamp(min=1e-9)  # (B, M)
        return loss(network, hidden, labels, relevance, options) * held / held.mean().clamp(min=1e-9)

    return mock.patch.object(stage1, "attention_loss", weighed)


def ranks_what_the_prior_leaves() -> AbstractContextManager[Any]:
    """Stage 1 ranks words by attention with the prior in it, so that the prior need not be learned again.

    Validation looks at the same scores, so the epoch that is kept is the best of what is trained.
    """
    loss, validate = losses.lambda_rank_loss, stage1.Stage1.validation_step

    def with_prior(network: Any, hidden: Any, labels: Tensor) -> Tensor:
        scores: Tensor = network.attention(hidden, labels, with_prior=True).clamp(min=1e-12).log()
        return scores

    def attention_loss(network: Any, hidden: Any, labels: Tensor, relevance: Tensor, options: Any) -> Tensor:
        scores = with_prior(network, hidden, labels)
        return loss(scores.float(), relevance, hidden.mask, k=options.k, sigma=options.sigma, pairs=options.pairs)

    def validation_step(self: stage1.Stage1, batch: dict[str, Tensor], batch_idx: int) -> None:
        with mock.patch.object(self.network, "scores", functools.partial(with_prior, self.network)):
            validate(self, batch, batch_idx)

    patches = contextlib.ExitStack()
    patches.enter_context(mock.patch.object(stage1, "attention_loss", attention_loss))
    patches.enter_context(mock.patch.object(stage1.Stage1, "validation_step", validation_step))
    return patches


def whole_words() -> AbstractContextManager[Any]:
    """Phrases are found by their whole words alone."""
    return mock.patch.object(phrases, "READINGS", (None,))


def six_letters() -> AbstractContextManager[Any]:
    """Phrases are found by the first six letters of their words alone."""
    return mock.patch.object(phrases, "READINGS", (6,))


def tf_idf() -> AbstractContextManager[Any]:
    """The relevance is how often a word stands in the label's documents, times its inverse document frequency.

    Without words of more than ``STOP_WORDS`` of the training documents, so that it is no straw man.
    """

    def compute(arrays: Any, labels: sp.csr_array, size: int, special_ids: Any, options: Any) -> Relevance:
        offsets, ones = arrays.offsets, np.ones(len(arrays.ids), dtype=np.float32)
        words = sp.csr_array((ones, arrays.ids.copy(), offsets.copy()), shape=(len(arrays), size))
        words.sum_duplicates()
        documents = np.maximum(np.bincount(words.indices, minlength=size), 1)
        weights = np.log(len(arrays) / documents) * (documents <= STOP_WORDS * len(arrays))
        weights[list(special_ids)] = 0
        matrix = sp.csr_array(labels.T @ words).multiply(weights.astype(np.float32)).tocsr()
        for row in range(matrix.shape[0]):
            part = slice(matrix.indptr[row], matrix.indptr[row + 1])
            values = matrix.data[part]
            least = np.sort(values)[-min(options.top, len(values)) :][:1].sum()
            matrix.data[part] = np.where(values >= least, values, 0) / max(values.max(initial=0), 1e-9)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return Relevance(sp.csr_array(matrix))

    return mock.patch.object(prepare, "compute_relevance", compute)


def identity_projections() -> AbstractContextManager[Any]:
    """At first label embeddings are the queries and states the keys, as drawn or with queries in closed form."""
    reset = LabelAttentionHead.reset_parameters

    def with_identity(self: LabelAttentionHead) -> None:
        reset(self)
        for linear in (self.query, self.key):
            torch.nn.init.eye_(linear.weight)

    return mock.patch.object(LabelAttentionHead, "reset_parameters", with_identity)


def more_ridge() -> AbstractContextManager[Any]:
    """Queries in closed form with a hundred times the ridge: a fifth as long, and no direction of few keys decides."""
    return mock.patch.object(closed_form, "RIDGE", 1.0)


def planted_value() -> AbstractContextManager[Any]:
    """A label's logit gets γ · Σ attention · relevance; γ is learned for each label, and starts at 1.

    Labels go in blocks, so that (B, L, T) is never whole. For networks with a head.
    """
    run, block = stage2.run_stage2, 256

    def with_value(network: Any, prepared: Any, config: Any, of_run: Any) -> None:
        network.value_strength = torch.nn.Parameter(torch.ones(network.num_labels))
        logits, selected = network.logits, network.selected_logits

        def value(hidden: Any, labels: Tensor) -> Tensor:
            attended = network.attention(hidden, labels, with_prior=True) * hidden.prior.of_labels(labels)
            return network.value_strength[labels] * attended.sum(dim=2)

        def of_all(hidden: Any) -> Tensor:
            blocks = torch.arange(network.num_labels).split(block)
            parts = [value(hidden, labels.expand(len(hidden.states), -1)) for labels in blocks]
            return logits(hidden) + torch.cat(parts, dim=1)

        network.logits = of_all
        network.selected_logits = lambda hidden, labels: selected(hidden, labels) + value(hidden, labels)
        run(network, prepared, config, of_run)

    return mock.patch.object(training_run, "run_stage2", with_value)


def smoothed_positives() -> AbstractContextManager[Any]:
    """Label smoothing takes from positives only: 1 − ε instead of 1, and 0 stays 0."""

    def loss(logits: Tensor, target: Tensor, gamma: float = 2.0, label_smoothing: float = 0.1) -> Tensor:
        plain = focal_loss(logits, target, gamma, 0.0)
        negative = focal_loss(logits, torch.zeros_like(target), gamma, 0.0)
        return plain + target * label_smoothing * (negative - plain)

    focal_loss = losses.focal_loss
    return mock.patch.object(losses, "focal_loss", loss)


def negatives_of_the_batch() -> AbstractContextManager[Any]:
    """Every document of a batch is trained on the labels that any of them has or finds hard."""
    of_documents = losses.hard_negatives

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

    return mock.patch.object(training_run, "run_stage2", with_bias)


def positions() -> AbstractContextManager[Any]:
    """In stage 2 states get a learned vector of how far a word stands from the beginning.

    By half powers of two of its distance in steps of five words; vectors start at 0.
    """
    run = stage2.run_stage2

    def with_positions(network: Any, prepared: Any, config: Any, of_run: Any) -> None:
        network.position = torch.nn.Parameter(torch.zeros(32, network.backbone.hidden_size))
        encode = network.encode

        def encode_with_positions(batch: dict[str, Tensor]) -> Any:
            hidden = encode(batch)
            place = (2 * torch.log2(1 + torch.arange(hidden.states.shape[1]) / 5)).long().clamp(max=31)
            return hidden._replace(states=hidden.states + network.position[place] * hidden.mask[:, :, None])

        network.encode = encode_with_positions
        run(network, prepared, config, of_run)

    return mock.patch.object(training_run, "run_stage2", with_positions)


def watched_training() -> AbstractContextManager[Any]:
    """After each epoch of stage 2 the same training documents are scored as validation's are, without dropout."""
    ended = Stage2.on_validation_epoch_end

    def also_training(self: Stage2) -> None:
        ended(self)
        size = self.config.eval_batch_size
        evaluator = self.prepared.evaluator(self.config.monitor_metrics, "train")
        drawn = self.prepared.split("train", size, shuffle=True, seed=WATCHED_SEED)
        for batch in itertools.islice(drawn, -(-WATCHED // size)):
            self._add(self._scored(move(batch, self.device)), "train", evaluator)
        append_log(self.config.log_path, "train", evaluator.compute())

    return mock.patch.object(Stage2, "on_validation_epoch_end", also_training)


def common_labels_alone() -> AbstractContextManager[Any]:
    """In stage 2 only labels that one training document in a hundred has, have a loss."""

    def of_common(self: Stage2, hidden: Any, positives: Tensor) -> Tensor:
        labels, options = self.prepared.document_labels, self.options
        counts = np.bincount(labels.indices, minlength=labels.shape[1])
        common = torch.from_numpy(np.flatnonzero(counts >= COMMON * labels.shape[0])).to(positives.device)
        logits, target = self.network.logits(hidden)[:, common], positives[:, common]
        chosen = torch.ones_like(target)
        if options.hard_negatives is not None:
            hard, chosen = stage2.hard_negatives(logits.detach(), target, options.hard_negatives)
            logits, target = logits.gather(1, hard), target.gather(1, hard)
        criterion = registry.get("losses", options.loss).load()
        losses = criterion(logits.float(), target.float(), gamma=options.gamma, label_smoothing=options.label_smoothing)
        return stage2.reduce_selected(losses, chosen, len(common), options.reduction)

    return mock.patch.object(Stage2, "_loss", of_common)
