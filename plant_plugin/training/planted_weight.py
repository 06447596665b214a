"""When planted scores are made and how their weight is chosen: fitted before stage 1, weighed after stage 2.

Trained together with the network (on leave-one-out scores) they made it worse than either alone: see
``benchmarks/FINDINGS.md``. So the network trains as if they were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plant_plugin.data.label_names import label_names, names_beside
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.metrics import PROBABILITY_HALF, Evaluator
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.planted_scores import PlantedScores
from plant_plugin.training.prepare import Prepared

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.run import Run

# Tried weights, in units that give the linear scores the spread of the network's logits.
SHARES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
# Tried adjustments, in units of the linear score (0 absent, 1 present) for a label e times rarer.
ADJUSTMENTS = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05)
# Tried weights ν of the labels' names, in units of the linear score; with 4 a name that is the whole document counts 4.
NAME_WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
ROWS = 256  # validation documents scored at once by the linear model alone
# This far below the best `val_metric` is as good: what it does for rare labels decides (benchmarks/FINDINGS.md).
NEAR_TIE = 0.002

Floats = npt.NDArray[np.float32]
ScoreBatches = Callable[[], Iterable[tuple[Floats, Any, npt.NDArray[np.int64]]]]


def fit_planted_scores(prepared: Prepared, config: Config, run: Run) -> None:
    """Fit the linear model on the training split; it has no weight yet.

    Raises:
        ConfigError: The weight is to be chosen on validation documents and there are none, or there are no names that
            ``name_weight`` could weigh.
        DataError: The configured names are of none of the labels.
    """
    options = config.planted_scores
    if options.weight is None and "val" not in prepared.arrays:
        raise ConfigError(
            "there are no validation documents to choose it on",
            where="planted_scores.weight",
            fix="give val_file or val_size, or a weight",
        )
    texts = prepared.texts("train", range(len(prepared.arrays["train"])))
    names, counts = _known_names(prepared, config, run), prepared.train_counts
    prepared.planted_scores = PlantedScores.fit(texts, prepared.labels["train"], options)
    if names is not None and counts is not None:
        prepared.planted_scores.plant_names(names, counts)


def _known_names(prepared: Prepared, config: Config, run: Run) -> list[str] | None:
    """The name of every label, empty where it has none; None where no names are read."""
    source, options = _names(config), config.planted_scores
    if source is None:
        if options.name_weight:
            fix = "give planted_scores.names, or put label_names.tsv beside the training file"
            raise ConfigError("labels have no names to weigh", where="planted_scores.name_weight", fix=fix)
        return None
    known, labels = label_names([source]), prepared.corpus.label_names
    names = [known(label) or "" for label in labels]
    found = sum(map(bool, names))
    if options.names and not found:
        fix = "each line has to be: label TAB name, the label as in the training file"
        raise DataError(f"none of the {len(labels)} labels has a name there", where=source, fix=fix)
    run.log(f"planted scores: {found} of {len(labels)} labels have a name in {source}")
    return names


def _names(config: Config) -> str | None:
    """Where the labels' names come from; None: there are none, or they are not wanted."""
    options = config.planted_scores
    if options.name_weight == 0:
        return None
    beside = names_beside(config.training_file)
    return options.names or (str(beside) if beside is not None else None)


def weighed_on_validation(config: Config) -> bool:
    """Whether :func:`plant_weight` starts a pass over the network's logits."""
    options = config.planted_scores
    if options.model == "none":
        return False
    return options.weight is None or (options.name_weight is None and _names(config) is not None)


def plant_weight(prepared: Prepared, config: Config, run: Run, validation: ScoreBatches) -> None:
    """Give the scores their adjustment τ, their weight γ and the weight ν of names: as configured, or the best.

    τ is chosen first, on the linear scores alone, then γ and ν together on the sums. Best is the highest PSP@5 among
    the values whose ``val_metric`` on validation documents is within ``NEAR_TIE`` of the highest (nDCG@5 where that is
    the loss, or needs a threshold: there is none yet); of equals, the lowest values. Only labels with training
    documents count: one that only validation documents have occurs there by construction, which speaks for a larger ν
    than other documents would. The offset comes after the thresholds, see :func:`centred`.

    Args:
        prepared: Its planted scores have no weight yet.
        config: ``planted_scores`` and ``val_metric`` are read.
        run: Says what was chosen.
        validation: Starts a pass over the network's own logits (B, L), truth and document numbers.
    """
    planted, options, counts = prepared.planted_scores, config.planted_scores, prepared.train_counts
    if planted is None or counts is None:
        raise ValueError("no planted scores were fitted")
    watched = parse_metric(config.val_metric)
    ranks = watched.threshold is None and watched.family != "Loss"
    cutoff = min(5, prepared.num_labels)
    metrics = (config.val_metric if ranks else f"nDCG@{cutoff}", f"PSP@{cutoff}")
    planted.offset = options.offset or 0.0
    planted.adjustment = _adjustment(prepared, planted, counts, config, metrics)
    shares, unit = (SHARES, None) if options.weight is None else ((1.0,), options.weight)
    names = (options.name_weight or 0.0,) if planted.names is None or options.name_weight is not None else NAME_WEIGHTS
    tried = [(share, name) for share in shares for name in names]
    best, told = 0, ""
    if len(tried) > 1 and "val" in prepared.labels:
        evaluators = [prepared.evaluator(config, metrics) for _ in tried]
        for logits, truth, documents in validation():
            texts = prepared.texts("val", documents)
            scores, named = planted.scores(texts), planted.name_scores(texts)
            if unit is None:  # of the first batch: the same for all
                unit = _spread(logits) / _spread(scores)
            logits, truth = _of_trained(logits, truth, counts)
            for (share, name), evaluator in zip(tried, evaluators, strict=True):
                evaluator.update(logits + np.float32(share * unit) * (scores + np.float32(name) * named), truth)
        best, found = _near_best(evaluators, metrics)
        first, reached = (", ".join(f"{name} {found[which][name]:.4f}" for name in metrics) for which in (0, best))
        told = f"; {first} with the lowest, {reached} with these"
    share, name = tried[best]
    planted.weight = share * (unit or 0.0)
    planted.add_names(name)
    chosen = f"weight {planted.weight:.3g}, adjustment {planted.adjustment:.3g}, names {planted.name_weight:.3g}"
    run.log(f"planted scores: {chosen}{told}")


def centred(planted: PlantedScores, tuned: Tuned, config: Config) -> Tuned:
    """Take the threshold of micro-F1 off every logit, and off the thresholds that were tuned before that.

    Linear scores shift all logits by what has no meaning; so a probability of 0.5 is again where a label is predicted.

    Args:
        planted: Gets its offset, unless one is configured.
        tuned: What the validation split says, with the fixed thresholds of ``PROBABILITY_HALF``.
        config: ``planted_scores.offset`` is read.

    Returns:
        The same of the logits as they are now.
    """
    if config.planted_scores.offset is not None or not planted.weight:
        return tuned
    planted.offset = tuned.thresholds["micro"]
    thresholds = {name: value - planted.offset for name, value in tuned.thresholds.items()}
    return Tuned(thresholds, tuned.documents, {**tuned.f1, **dict.fromkeys(PROBABILITY_HALF, tuned.f1["micro"])})


def _adjustment(
    prepared: Prepared,
    planted: PlantedScores,
    counts: npt.NDArray[np.int64],
    config: Config,
    metrics: tuple[str, str],
) -> float:
    """τ: the configured one, or the best for the linear scores alone; 0 where there are no validation documents."""
    if config.planted_scores.adjustment is not None:
        return config.planted_scores.adjustment
    if "val" not in prepared.labels:
        return 0.0
    labels = prepared.labels["val"]
    evaluators = [prepared.evaluator(config, metrics) for _ in ADJUSTMENTS]
    planted.adjustment = 0.0
    for start in range(0, labels.shape[0], ROWS):
        rows = range(start, min(start + ROWS, labels.shape[0]))
        scores = planted.scores(prepared.texts("val", rows))
        scores, truth = _of_trained(scores, labels[rows.start : rows.stop], counts)
        for adjustment, evaluator in zip(ADJUSTMENTS, evaluators, strict=True):
            evaluator.update(scores + np.float32(adjustment) * planted.rarity, truth)
    return ADJUSTMENTS[_near_best(evaluators, metrics)[0]]


def _of_trained(scores: Floats, truth: Any, counts: npt.NDArray[np.int64]) -> tuple[Floats, Any]:
    """Scores (B, L) and truth in which labels without training documents are neither found nor missed."""
    trained = counts > 0
    return np.where(trained, scores, np.float32(-np.inf)), truth.multiply(trained)


def _near_best(evaluators: list[Evaluator], metrics: tuple[str, str]) -> tuple[int, list[dict[str, float]]]:
    """Which has the best second metric among those near the best first, the first of equals; and what all reached."""
    found = [evaluator.compute() for evaluator in evaluators]
    enough = max(one[metrics[0]] for one in found) - NEAR_TIE
    near = [which for which, one in enumerate(found) if one[metrics[0]] >= enough]
    return max(near, key=lambda which: found[which][metrics[1]], default=0), found


def _spread(values: Floats) -> float:
    """Standard deviation, never 0."""
    return float(values.std()) or 1.0
