"""From a trained model, whoever trained it, to ``result.json``: every number and all that is needed to judge it."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import logging
import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plant_plugin.config import Config
from plant_plugin.evaluation.metrics import PROBABILITY_HALF, Evaluator
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.thresholds import Tuned, tune
from plant_plugin.files import atomic_write
from plant_plugin.report.label_statistics import write_label_statistics
from plant_plugin.report.machine import processor_name, usable_cores
from plant_plugin.report.run import Run

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

PER_DOCUMENT = "per_document.npz"  # beside result.json: what the tests of `plant compare` need

# What can change a number. Read from package metadata: nothing is imported for it.
PACKAGES = (
    "plant-plugin",
    "libmultilabel",
    "torch",
    "lightning",
    "torchmetrics",
    "transformers",
    "peft",
    "bitsandbytes",
    "numpy",
    "scipy",
    "scikit-learn",
    "liblinear-multicore",
    "pyxclib",
)

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


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run found, in the order of ``result.json``; holds no path and no text.

    Attributes:
        dataset: Its name.
        config: Name of the configuration.
        model: E.g. ``PLANT`` or ``linear-1vsrest``.
        strategy: E.g. ``plant``, ``planted_scores`` or ``libmultilabel``.
        seed: Of the run.
        split: Which split the metrics are of, e.g. ``test``.
        metrics: Exact name -> fraction, not percent. What is undefined (NaN) becomes null.
        counts: Documents, labels and what was left out.
        thresholds: Name -> threshold in score space (logit), tuned on validation but for ``0.5``.
        truncated: Share of each split's documents that were not read to their end; left out where unknown.
        planted_scores: What was chosen for them, by the name of the option; left out where there are none.
        refit: ``documents`` of the second training and ``epochs`` of each stage in it; left out where there was none.
        time_s: Phase -> wall seconds, with ``total``.
        cpu_s: The same in seconds of the process on all cores together; of a phase on a GPU they say little.
        peak_memory_mb: Megabytes, of the run or phase by phase.
        device: Where it ran.
        processor: Its name and the number of cores that the run could use.
        hashes: Of the label list, of each split and of the configuration.
        versions: Of Python and of every package that can change a number.
        backend: Who computed the propensity-scored metrics, ``xclib`` or ``builtin``.
    """

    dataset: str
    config: str | None
    model: str
    strategy: str
    seed: int | None
    split: str = "test"
    metrics: Mapping[str, float]
    counts: Mapping[str, int]
    thresholds: Mapping[str, float]
    truncated: Mapping[str, float] = field(default_factory=dict)
    planted_scores: Mapping[str, float] = field(default_factory=dict)
    refit: Mapping[str, Any] = field(default_factory=dict)
    time_s: Mapping[str, float]
    cpu_s: Mapping[str, float]
    peak_memory_mb: float | Mapping[str, float]
    device: str
    processor: Mapping[str, Any] = field(
        default_factory=lambda: {"name": processor_name(), "cores": usable_cores()},
    )
    hashes: Mapping[str, str]
    versions: Mapping[str, str] = field(default_factory=lambda: versions())
    backend: str

    def content(self) -> dict[str, Any]:
        """The content of the file."""
        values = {entry.name: plain(getattr(self, entry.name)) for entry in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if value != {} or name not in LEFT_OUT}


LEFT_OUT = ("truncated", "planted_scores", "refit")  # where they are empty


def label_counts(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Documents that have each label, int64 (L,); a label named twice by a document counts once."""
    column_of = {name: column for column, name in enumerate(labels)}
    counts = np.zeros(len(labels), dtype=np.int64)
    for names in label_lists:
        for name in column_of.keys() & set(names):
            counts[column_of[name]] += 1
    return counts


def labels_outside(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Labels of each document that are not in the label set, int64 (N,); one named twice counts once."""
    known = set(labels)
    return np.array([len(set(names) - known) for names in label_lists], dtype=np.int64)


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

    Raises:
        PlantError: The disk is full or the folder cannot be written.
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
    costs, trained_again = run.totals(), config.refit != "none" and not config.eval
    result = Result(
        dataset=dataset_name(config),
        config=config.config_name,
        model=scored.model,
        strategy=scored.strategy,
        seed=config.seed,
        metrics=metrics,
        counts={**scored.counts, **evaluator.counts},
        thresholds=thresholds,
        truncated=scored.truncated,
        planted_scores=scored.planted_scores,
        refit={"documents": config.refit, "epochs": run.stop_after} if trained_again else {},
        time_s=costs["time_s"],
        cpu_s=costs["cpu_s"],
        peak_memory_mb=costs["peak_memory_mb"],
        device=scored.device,
        hashes={**scored.hashes, "config": config.hash()},
        backend=evaluator.backend,
    ).content()
    save_result(Path(run.folder) / "result.json", result, evaluator.per_document(scored.labels))
    return result


def save_result(path: str | os.PathLike[str], result: Mapping[str, Any], documents: PerDocument | None = None) -> None:
    """Write a result and, beside it, what its documents contribute; each whole or not at all.

    Raises:
        PlantError: The disk is full or the folder cannot be written.
    """
    if documents is not None:
        documents.save(per_document_path(path))
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def per_document_path(result: str | os.PathLike[str]) -> Path:
    """Where the per-document values of a result lie: ``per_document.npz`` of a run, ``seed1.npz`` of ``seed1.json``."""
    path = Path(result)
    return path.with_name(PER_DOCUMENT) if path.name == "result.json" else path.with_suffix(".npz")


def dataset_name(config: Config) -> str:
    """The data set: ``data_name`` where given, else the folder of the training or test file; ``demo``: built-in."""
    name = getattr(config, "data_name", None)
    if name and name != "unnamed":
        return str(name)
    file = getattr(config, "training_file", None) or getattr(config, "test_file", None)
    if not file:
        return "unnamed"
    if str(file).startswith("demo:"):
        return "demo"
    return Path(file).resolve().parent.name or "unnamed"


def versions() -> dict[str, str]:
    """Python and every installed package that can change a number."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """The same in types that JSON has: numpy numbers become Python's, NaN and infinities null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_predictions(path: str, rows: Iterable[tuple[Iterable[str], Iterable[float]]]) -> None:
    """LibMultiLabel's file of predictions: a line for each document, ``label:score`` with four digits, best first.

    Raises:
        PlantError: The file cannot be written.
    """
    with atomic_write(path) as temporary, open(temporary, "w") as stream:
        for names, scores in rows:
            stream.write(" ".join(f"{name}:{score:.4}" for name, score in zip(names, scores, strict=True)) + "\n")
    logger.info("Predictions are in %s", path)


def device_name(device: torch.device) -> str:
    """``cpu``, or the name of the accelerator."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device.type)
