"""Scores of whole splits, in which all processes of a run take part, and what the evaluation reads of them.

Shape key: **B** documents · **L** labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from plant_plugin.config import Config
from plant_plugin.data.batches import move
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.model.trained import with_planted
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.logs import append_log
from plant_plugin.report.metric_log import Place
from plant_plugin.report.record import skipped_steps
from plant_plugin.report.result import Scored, device_name, write_predictions
from plant_plugin.report.run import Run
from plant_plugin.training.devices import at_first, count, rank
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.stage import device_of
from plant_plugin.training.weights import centred, weighed_on_validation

Scores = npt.NDArray[np.float32]
ScoreBatch = tuple[Scores, Any, npt.NDArray[np.int64]]


def score_batches(network: PlantableNetwork, prepared: Prepared, config: Config, split: str) -> Iterator[ScoreBatch]:
    """Logits (B, L) float32, sparse truth and document numbers of a split, batch by batch; all in the first process.

    Args:
        network: Trained.
        prepared: The data.
        config: ``eval_batch_size`` and ``limit_*_batches`` are read.
        split: ``val`` or ``test``.
    """
    device = device_of(config)
    network.to(device).eval()
    batches = prepared.split(split, config.eval_batch_size).take_part(rank(), count())
    share = config.limit_test_batches if split == "test" else config.limit_val_batches
    wanted = int(share) if share > 1 else max(1, int(share * len(batches)))
    progress = tqdm(zip(range(wanted), batches, strict=False), split, wanted, leave=False, disable=config.silent)
    planted = prepared.planted_scores
    with torch.inference_mode():
        for _, batch in progress:
            scored = None
            if "surplus" not in batch:
                logits = network(move(batch, device))["logits"].float().cpu().numpy()
                scored = logits, batch["document"].numpy()
            for logits, documents in at_first(scored):
                texts = [] if planted is None else prepared.texts(split, documents)
                yield with_planted(logits, planted, texts), prepared.labels[split][documents], documents


def _tested(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> Iterator[ScoreBatch]:
    """The test split's scores; writes ``predictions.txt`` and the monitored metrics of ``logs.json`` on the way."""
    monitored = prepared.evaluator(config, [name for name in config.monitor_metrics if name != "Loss"], "test")
    best: dict[int, tuple[npt.NDArray[np.int64], Scores]] = {}
    for logits, truth, documents in score_batches(network, prepared, config, "test"):
        monitored.update(logits, truth, documents)
        if config.save_k_predictions:
            labels = top_labels(logits, config.save_k_predictions)
            chosen = np.take_along_axis(logits, labels, axis=1)
            best.update((int(document), pair) for document, *pair in zip(documents, labels, chosen, strict=True))  # type: ignore[misc]
        yield logits, truth, documents
    found = monitored.compute()
    append_log(config.log_path, "test", found)
    run.metrics.write(Place("test", 0, 0, "test"), found)
    if config.save_k_predictions:
        names = prepared.corpus.label_names  # batches go by length; the file follows the documents' order
        rows = (([names[label] for label in best[document][0]], best[document][1]) for document in sorted(best))
        write_predictions(config.predictions_path, rows)


def scored(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> Scored:
    """What the evaluation reads of a trained network."""

    def validation() -> Iterator[tuple[Scores, Any]]:
        return ((logits, truth) for logits, truth, _ in score_batches(network, prepared, config, "val"))

    planted = prepared.planted_scores
    return Scored(
        model=config.model_name,
        strategy=config.strategy,
        device=f"{count()} × " * (count() > 1) + device_name(device_of(config)),
        labels=prepared.corpus.label_names,
        train_counts=prepared.train_counts,
        num_train=prepared.num_train,
        validation=validation if "val" in prepared.arrays else None,
        test=(lambda: _tested(network, prepared, config, run)) if "test" in prepared.arrays else None,
        outside=prepared.outside("test") if "test" in prepared.arrays else None,
        hashes=prepared.hashes,
        counts={**prepared.corpus.counts, **skipped_steps(run.folder)},
        truncated=prepared.truncated,
        planted_scores={} if planted is None else planted.chosen,
        centred=None if planted is None else lambda tuned: centred(planted, tuned, config),
    )


def assist(network: PlantableNetwork, prepared: Prepared, config: Config, run: Run) -> dict[str, Any]:
    """Score this process's part in every pass over documents that the first process makes its results of.

    Returns:
        No result: the first process has it.
    """
    passes = [] if config.eval else ["val"] * (weighed_on_validation(config) + 1)
    if run.tests:
        passes.append("test")
    for split in passes:
        if split in prepared.arrays:
            for _ in score_batches(network, prepared, config, split):
                pass
    return {}
