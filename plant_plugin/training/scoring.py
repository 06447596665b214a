"""A trained model as it is read from a folder, and the one place where documents get their scores.

Shape key: **B** documents · **L** labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from plant_plugin.data.tokens import Tokens
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.training.checkpoints import load_model


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


def load_trained(folder: Path, lm_weight: str | None = None) -> TrainedModel:
    """Read the folder of a finished run; ``lm_weight`` as in :func:`plant_plugin.training.checkpoints.load_model`.

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
