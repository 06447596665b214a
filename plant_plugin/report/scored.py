"""What every trained model hands over for evaluation, whoever trained it, and its ``result.json``."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.metrics import PROBABILITY_HALF, Evaluator
from plant_plugin.evaluation.thresholds import Tuned, tune
from plant_plugin.files import atomic_write
from plant_plugin.report.label_statistics import write_label_statistics
from plant_plugin.report.result import PER_DOCUMENT, write_result

if TYPE_CHECKING:
    import torch

    from plant_plugin.config import Config
    from plant_plugin.report.run import Run

logger = logging.getLogger(__name__)

ScoreBatches = Callable[[], Iterable[tuple[Any, ...]]]


@dataclass
class Scored:
    """A trained model as the evaluation sees it.

    Attributes:
        model: Name in ``result.json``, e.g. ``KimCNN`` or ``linear-tree``.
        device: Where it ran.
        labels: The label set, in column order.
        train_counts: int64 (L,), documents of the split trained on that have each label; None when nothing was read.
        num_train: Documents of that split.
        validation: Starts a pass over scores (B, L) and truth (B, L, sparse) of the validation split; None without one.
        test: The same for the test split; a third element numbers the documents where they are not in file order.
        outside: int64 (N,), true labels of each test document outside the label set; None where nothing tells them.
        hashes: SHA-256 of ``labels`` and of each split read.
        counts: What reading dropped.
        truncated: Share of each split's documents that were not read to their end; empty: unknown.
        planted_scores: What was chosen for them, by the name of the option; empty: there are none.
        centred: What tuned thresholds become where they move all scores; None: they do not.
        strategy: ``plant``, ``end_to_end`` or ``planted_scores``; ``libmultilabel``: trained as LibMultiLabel trains.
    """

    model: str
    device: str
    labels: list[str]
    train_counts: npt.NDArray[np.int64] | None
    num_train: int | None
    validation: ScoreBatches | None
    test: ScoreBatches | None
    outside: npt.NDArray[np.int64] | None = None
    hashes: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    truncated: dict[str, float] = field(default_factory=dict)
    planted_scores: dict[str, float] = field(default_factory=dict)
    centred: Callable[[Tuned], Tuned] | None = None
    strategy: str = "libmultilabel"


def label_counts(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Documents that have each label, int64 (L,); a label named twice by a document counts once."""
    column_of = {name: column for column, name in enumerate(labels)}
    counts = np.zeros(len(labels), dtype=np.int64)
    for names in label_lists:
        for name in set(names):
            if name in column_of:
                counts[column_of[name]] += 1
    return counts


def labels_outside(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Labels of each document that are not in the label set, int64 (N,); one named twice counts once."""
    known = set(labels)
    return np.array([len(set(names) - known) for names in label_lists], dtype=np.int64)


def logits_of(probabilities: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
    """Logits of probabilities in [0, 1]; 0 becomes -inf and 1 the largest finite float32."""
    exact = probabilities.astype(np.float64)
    with np.errstate(divide="ignore"):
        logits = np.log(exact) - np.log1p(-exact)
    return np.minimum(logits, np.finfo(np.float32).max).astype(np.float32)


def tuned_thresholds(run: Run, scored: Scored) -> dict[str, float]:
    """Thresholds in score space: 0.0 (probability 0.5) and, with a validation split, those tuned on it alone.

    What each label reaches there goes to ``label_statistics.tsv``.
    """
    if scored.validation is None:
        return dict(PROBABILITY_HALF)
    with run.phase("thresholds"):
        tuned = tune(scored.validation(), fixed=PROBABILITY_HALF)
        if scored.centred is not None:
            tuned = scored.centred(tuned)
    write_label_statistics(Path(run.folder), scored.labels, scored.train_counts, tuned)
    return {**PROBABILITY_HALF, **tuned.thresholds}


def report(config: Config, run: Run, scored: Scored, thresholds: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Score test with this package's metrics and write ``result.json`` and, beside it, ``per_document.npz``.

    Args:
        config: The configuration.
        run: Its folder and clock.
        scored: The trained model.
        thresholds: Those of a checkpoint; None to tune them on the validation split.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split or where the run does not test.
    """
    if scored.test is None or not run.tests:
        return {}
    if thresholds is None:
        thresholds = tuned_thresholds(run, scored)
    with run.phase("test"):
        evaluator = Evaluator(
            len(scored.labels),
            train_label_counts=scored.train_counts,
            num_train=scored.num_train,
            thresholds=thresholds,
            propensity=(config.propensity_a, config.propensity_b),
            outside=scored.outside,
            spill_folder=run.folder,
            keep_documents=True,
        )
        for batch in scored.test():
            evaluator.update(*batch)
        metrics = evaluator.compute()
    evaluator.per_document(scored.labels).save(Path(run.folder) / PER_DOCUMENT)
    return write_result(
        Path(run.folder) / "result.json",
        config=config,
        model=scored.model,
        strategy=scored.strategy,
        split="test",
        metrics=metrics,
        counts={**scored.counts, **evaluator.counts},
        thresholds=thresholds,
        **run.totals(),
        hashes=scored.hashes,
        truncated=scored.truncated,
        planted_scores=scored.planted_scores,
        epochs=None if config.eval or config.refit == "none" else run.stop_after,
        backend=evaluator.backend,
        device=scored.device,
    )


def sparse_truth(dense: npt.NDArray[Any]) -> sp.csr_matrix:
    """A dense 0/1 matrix (B, L) as the sparse matrix that the metrics take."""
    return sp.csr_matrix(dense, dtype=np.float32)


def write_predictions(path: str, rows: Iterable[tuple[Iterable[str], Iterable[float]]]) -> None:
    """LibMultiLabel's file of predictions: a line for each document, ``label:score`` with four digits, best first.

    Raises:
        PlantError: The file cannot be written.
    """
    with atomic_write(path) as temporary, open(temporary, "w") as stream:
        for names, scores in rows:
            stream.write(" ".join(f"{name}:{score:.4}" for name, score in zip(names, scores, strict=True)) + "\n")
    logger.info("Predictions are in %s", path)


def limited(loader: Any, settings: Mapping[str, Any], split: str) -> Iterator[Any]:
    """The batches that ``limit_val_batches`` or ``limit_test_batches`` leaves: a share, or a number above one."""
    limit = settings[f"limit_{split}_batches"]
    return itertools.islice(loader, int(limit if limit > 1 else len(loader) * limit))


def device_name(device: torch.device) -> str:
    """``cpu``, or the name of the accelerator."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device.type)
