"""When planted scores are made and how their weight is chosen: fitted before stage 1, weighed after stage 2.

Trained together with the network (on leave-one-out scores) they made it worse than either alone: see
``benchmarks/FINDINGS.md``. So the network trains as if they were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import ConfigError
from plant_plugin.planted_scores import PlantedScores
from plant_plugin.training.prepare import Prepared

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.run import Run

# Tried weights, in units that give the linear scores the spread of the network's logits.
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)

ScoreBatches = Callable[[], Iterable[tuple[npt.NDArray[np.float32], Any, npt.NDArray[np.int64]]]]


def fit_planted_scores(prepared: Prepared, config: Config) -> None:
    """Fit the linear model on the training split; it has no weight yet.

    Raises:
        ConfigError: The weight is to be chosen on validation documents and there are none.
    """
    options = config.planted_scores
    if options.weight is None and "val" not in prepared.arrays:
        raise ConfigError(
            "there are no validation documents to choose it on",
            where="planted_scores.weight",
            fix="give val_file or val_size, or a weight",
        )
    texts = prepared.texts("train", range(len(prepared.arrays["train"])))
    prepared.planted_scores = PlantedScores.fit(texts, prepared.labels["train"], options)


def plant_weight(prepared: Prepared, config: Config, run: Run, validation: ScoreBatches) -> None:
    """Give the scores their weight γ: the configured one, or the best on validation documents.

    Best is the highest ``val_metric`` (nDCG@5 where that is the loss); of equals, the lowest weight.

    Args:
        prepared: Its planted scores have no weight yet.
        config: ``planted_scores.weight`` and ``val_metric`` are read.
        run: Says what was chosen.
        validation: Starts a pass over the network's own logits (B, L), truth and document numbers.
    """
    planted = prepared.planted_scores
    if planted is None:
        raise ValueError("no planted scores were fitted")
    if config.planted_scores.weight is not None:
        planted.weight = config.planted_scores.weight
        return
    metric = config.val_metric if config.val_metric != "Loss" else f"nDCG@{min(5, prepared.num_labels)}"
    evaluators = [prepared.evaluator(config, [metric]) for _ in SHARES]
    unit = 0.0
    for logits, truth, documents in validation():
        scores = planted.scores(prepared.texts("val", documents))
        unit = unit or _spread(logits) / _spread(scores)  # of the first batch: the same for all
        for share, evaluator in zip(SHARES, evaluators, strict=True):
            evaluator.update(logits + np.float32(share * unit) * scores, truth)
    found = [evaluator.compute()[metric] for evaluator in evaluators]
    best = int(np.argmax(found))
    planted.weight = SHARES[best] * unit
    run.log(
        f"planted scores: weight {planted.weight:.3g}; {metric} {found[0]:.4f} without, {found[best]:.4f} with them"
    )


def _spread(values: npt.NDArray[np.float32]) -> float:
    """Standard deviation, never 0."""
    return float(values.std()) or 1.0
