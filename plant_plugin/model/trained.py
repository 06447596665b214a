"""A trained model as it is read from a folder, and the one place where documents get their scores.

Shape key: **B** documents · **L** labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from torch import Tensor

from plant_plugin.data.batches import Batches
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT
from plant_plugin.data.tokens import Tokens
from plant_plugin.model.folder import load_model
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance.marks import phrase_marks
from plant_plugin.relevance.phrases import Phrases
from plant_plugin.relevance.planted_scores import PlantedScores


@dataclass
class TrainedModel:
    """What a model folder holds.

    Attributes:
        network: With its relevance planted where it has a prior.
        tokens: The vocabulary.
        labels: The label set, in column order.
        thresholds: Name -> threshold, in logits; ``0.5`` is always there.
        content: ``config.json``.
        planted_scores: The linear model whose scores are added to the network's, or None.
    """

    network: PlantableNetwork
    tokens: Tokens
    labels: list[str] = field(repr=False)
    thresholds: dict[str, float]
    content: dict[str, Any]
    planted_scores: PlantedScores | None = None

    @property
    def phrases(self) -> Phrases | None:
        """The phrases that its evidence was, or None."""
        return None if self.planted_scores is None else self.planted_scores.phrases

    @property
    def max_tokens(self) -> int:
        """How many tokens of a document are read."""
        return int(self.content["max_seq_length"] or WHOLE_DOCUMENT)

    def batches(self, texts: Sequence[str], batch_size: int) -> Batches:
        """Texts as batches for the network, the longest first, with what phrases mark where it reads that."""
        arrays = self.tokens.encode(texts, self.max_tokens)
        nothing = (np.empty(0, np.float32), np.empty(0, np.int64), np.zeros(len(texts) + 1, np.int64))
        unlabelled, marks = sparse.csr_array(nothing, shape=(len(texts), len(self.labels))), {}
        strength = self.content.get("phrase_prior", 0)  # older models lack it
        if self.phrases is not None and strength:
            places = partial(self.tokens.spans, max_length=self.max_tokens)
            marks["phrase"] = phrase_marks(self.phrases, texts, arrays, places, strength)
        return Batches(arrays, unlabelled, batch_size, self.tokens.pad_id, shuffle=False, seed=0, marks=marks)


def load_trained(folder: Path, lm_weight: str | None = None) -> TrainedModel:
    """Read the folder of a finished run; ``lm_weight`` as in :func:`plant_plugin.model.folder.load_model`.

    Raises:
        CheckpointError: The folder is no model, or torn, or its parts do not belong together.
    """
    network, tokens, labels, thresholds, content = load_model(folder, lm_weight)
    planted = PlantedScores.load(folder, content["hashes"]["labels"]) if content["planted_scores"] else None
    return TrainedModel(network, tokens, labels, thresholds, content, planted)


def document_scores(
    network: PlantableNetwork, batch: dict[str, Tensor], planted: PlantedScores | None, texts: Sequence[str]
) -> npt.NDArray[np.float32]:
    """Logits (B, L) of a batch: the network's, and the planted scores' share where there are any.

    Args:
        network: In evaluation mode, on the batch's device.
        batch: See :class:`plant_plugin.data.batches.Batches`.
        planted: The linear model, or None.
        texts: The batch's B documents; read only by ``planted``.
    """
    logits: npt.NDArray[np.float32] = network(batch)["logits"].float().cpu().numpy()
    return with_planted(logits, planted, texts)


def with_planted(
    logits: npt.NDArray[np.float32], planted: PlantedScores | None, texts: Sequence[str]
) -> npt.NDArray[np.float32]:
    """A network's logits (B, L) with the planted scores' share of B texts, if there is any; changes them in place."""
    if planted is not None and planted.weight:
        planted.add_to(logits, texts)
    return logits
