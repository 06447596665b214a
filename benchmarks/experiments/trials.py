"""Choices that PLANT does not offer, made for an experiment: the ``trial`` of a variant names one of these functions.

Each gives a context in which PLANT trains so. What does not pay stays out of the package, and goes from here when its
row is in the tables (`gone` in experiments.yml).
"""

from __future__ import annotations

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
from plant_plugin.networks import language_baselines
from plant_plugin.networks.losses import hard_negatives
from plant_plugin.networks.planted_plm_ca import OwnOutputsHead
from plant_plugin.relevance import phrases
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.report.logs import append_log
from plant_plugin.training import inputs, stage2
from plant_plugin.training.stage import Candidates
from plant_plugin.training.stage2 import Stage2

WATCHED, WATCHED_SEED = 500, 20_240_301  # the same training documents are watched in every run
COMMON = 0.01  # share of the training documents
STOP_WORDS = 0.4  # share of the training documents


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

    return mock.patch.object(inputs, "compute_relevance", compute)


def watched_training() -> AbstractContextManager[Any]:
    """After each epoch of stage 2 the same training documents are scored as validation's are, without dropout."""
    ended = Stage2.on_validation_epoch_end

    def also_training(self: Stage2) -> None:
        ended(self)
        settings, documents = self.settings, self.inputs.documents
        size = settings.eval_batch_size
        evaluator = documents.evaluator(settings.monitor_metrics, "train", settings)
        drawn = self.inputs.batches("train", size, shuffle=True, seed=WATCHED_SEED)
        for batch in itertools.islice(drawn, -(-WATCHED // size)):
            logits, numbers, loss = self._scored(move(batch, self.device))
            scores = self.inputs.placed("train", numbers, logits)
            evaluator.update(scores, documents.labels["train"][numbers], numbers, loss=loss)
        append_log(self.run.log_path, "train", evaluator.compute())

    return mock.patch.object(Stage2, "on_validation_epoch_end", also_training)


def output_per_label() -> AbstractContextManager[Any]:
    """PLM-CA has the head of what the package has as PlantedPLMCA since: an output vector of each label's own."""
    return mock.patch.object(language_baselines, "CrossAttentionHead", OwnOutputsHead)


def common_labels_alone() -> AbstractContextManager[Any]:
    """In stage 2 only labels that one training document in a hundred has, have a loss."""

    def of_common(self: Stage2, hidden: Any, candidates: Candidates) -> Tensor:
        labels, options, positives = self.inputs.documents.document_labels, self.options, candidates.positives
        counts = np.bincount(labels.indices, minlength=labels.shape[1])
        common = torch.from_numpy(np.flatnonzero(counts >= COMMON * labels.shape[0])).to(positives.device)
        logits, target = self.network.logits(hidden)[:, common], positives[:, common]
        chosen = torch.ones_like(target)
        if options.hard_negatives is not None:
            hard, chosen = hard_negatives(logits.detach(), target, options.hard_negatives)
            logits, target = logits.gather(1, hard), target.gather(1, hard)
        criterion = registry.get("losses", options.loss).load()
        losses = criterion(logits.float(), target.float(), gamma=options.gamma, label_smoothing=options.label_smoothing)
        return stage2.reduce_selected(losses, chosen, len(common), options.reduction)

    return mock.patch.object(Stage2, "_loss", of_common)
