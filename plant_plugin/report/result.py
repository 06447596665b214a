"""From a trained model, whoever trained it, to ``result.json``: every number and all that is needed to judge it."""

from __future__ import annotations

import importlib.metadata
import logging
import math
import os
import platform
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from typing_extensions import TypedDict

from plant_plugin.config.sections import Data, Settings
from plant_plugin.data.xmc_sparse import read_filter
from plant_plugin.errors import DataError
from plant_plugin.evaluation.calibration import Calibrated, Calibration
from plant_plugin.evaluation.metrics import PROBABILITY_HALF, Evaluator
from plant_plugin.evaluation.near_misses import NearMisses
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.store import Matrix
from plant_plugin.evaluation.thresholds import Tuned, tune
from plant_plugin.files import atomic_write, read_json, sha256, write_json
from plant_plugin.report.label_statistics import write_label_statistics
from plant_plugin.report.machine import processor_name, usable_cores
from plant_plugin.report.record import Gains, compared_in
from plant_plugin.report.run import Run

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

PER_DOCUMENT = "per_document.npz"  # beside result.json: what the tests of `plant compare` need
# Of a result, where they are empty.
LEFT_OUT = ("changed", "truncated", "planted_scores", "calibration", "refit", "compared")
PATHS = ("_file", "_dir", "_path", "resume", "registry")  # endings of keys that name files
# What can change a number; pyxclib is distributed as `xclib`. Read from package metadata: nothing is imported for it.
PACKAGES = (
    "plant-plugin", "libmultilabel", "torch", "lightning", "torchmetrics", "transformers", "peft", "bitsandbytes",
    "numpy", "scipy", "scikit-learn", "liblinear-multicore", "xclib",
)  # fmt: skip


class Processor(TypedDict):
    """The processor, and the cores of it that a run could use."""

    name: str
    cores: int


class Refit(TypedDict):
    """The second training."""

    documents: str
    epochs: dict[str, int]  # of each stage


class Result(TypedDict, total=False):
    """The content of ``result.json``, in this order; no path, no text. A file has at least ``metrics``."""

    dataset: str
    config: str | None  # its name
    changed: dict[str, object]  # its keys that are not at their defaults, without paths
    model: str | None  # e.g. ``PLANT`` or ``linear-1vsrest``
    strategy: str | None
    seed: int | None
    split: str
    metrics: dict[str, float | None]  # by exact name, fractions; None: undefined
    counts: dict[str, int]  # documents, labels and what was left out
    thresholds: dict[str, float]  # in score space (logit), tuned on validation but for ``0.5``
    truncated: dict[str, float]  # share of each split's documents that were not read to their end
    planted_scores: dict[str, float]  # what was chosen for them, by the name of the option
    near_misses: NearMisses  # of `plant evaluate`, where it is asked for
    calibration: Calibrated  # of the probabilities on test; without it where pairs are filtered
    refit: Refit
    compared: dict[str, Gains]  # what each part that `auto` decided over gains on validation documents
    time_s: dict[str, float]  # wall seconds of each phase, and their ``total``
    cpu_s: dict[str, float]  # the same of the process on all cores together; of a phase on a GPU they say little
    peak_memory_mb: float | dict[str, float] | None  # of the run, or phase by phase
    gpu_memory_mb: dict[str, float]  # the most that tensors held on a GPU, phase by phase; empty without one
    device: str
    processor: Processor
    hashes: dict[str, str]  # of the label list, of each split and of the configuration
    versions: dict[str, str]  # of Python and of every package that can change a number
    backend: str  # who computed the propensity-scored metrics, ``xclib`` or ``builtin``
    notes: list[str]  # of `plant evaluate`: what was left out or taken for granted


@dataclass
class Scored:
    """A trained model as the evaluation sees it; what is not said here is as in the :class:`Result`.

    ``validation`` and ``test`` start a pass over scores and truth (B, L) of a split, None where there is none; a third
    element numbers the documents where they are not in the order of the file.
    """

    model: str
    device: str
    labels: list[str]  # the label set, in column order
    train_counts: npt.NDArray[np.int64] | None  # (L,) documents trained on that have each label; None: nothing was read
    num_train: int | None
    validation: Callable[[], Iterable[tuple[Matrix, Matrix]]] | None
    test: Callable[[], Iterable[tuple[Matrix, Matrix] | tuple[Matrix, Matrix, npt.ArrayLike]]] | None
    outside: npt.NDArray[np.int64] | None = None  # (N,) true labels of each test document outside the label set
    hashes: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    truncated: dict[str, float] = field(default_factory=dict)
    planted_scores: dict[str, float] = field(default_factory=dict)
    strategy: str = "libmultilabel"  # trained as LibMultiLabel trains
    log_odds: bool = True  # what its scores are meant as


def without_paths(keys: Mapping[str, object]) -> dict[str, object]:
    """Leave out of a configuration's keys those that say where files lie, in its blocks too."""
    return {
        name: without_paths(value) if isinstance(value, Mapping) else value
        for name, value in keys.items()
        if not name.endswith(PATHS) and not (isinstance(value, str) and os.path.isabs(value))
    }


def label_counts(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Count the documents that have each label, int64 (L,); a label named twice by a document counts once."""
    counts = Counter(chain.from_iterable(map(set, label_lists)))
    return np.array([counts[name] for name in labels], np.int64)


def labels_outside(label_lists: Iterable[Iterable[str]], labels: list[str]) -> npt.NDArray[np.int64]:
    """Count the labels of each document that are not in the label set, int64 (N,); one named twice counts once."""
    known = set(labels)
    return np.array([len(set(names) - known) for names in label_lists], np.int64)


def filtered_pairs(path: str | Path, labels: list[str], documents: int) -> sp.csr_matrix:
    """Read the pairs of a filter file as stored ones (N, L); those of labels outside the label set are nowhere scored.

    Raises:
        DataError: A line is not of the format, or of a document that the test file does not have.
    """
    column_of = {name: column for column, name in enumerate(labels)}
    rows, columns = array("q"), array("q")
    for where, document, label in read_filter(Path(path)):
        if document >= documents:
            what = f"document {document:,}, but the test file has {documents:,}, counted from 0"
            raise DataError(what, where=where, fix="take filter and test file of one data set")
        if label in column_of:
            rows.append(document)
            columns.append(column_of[label])
    ones = np.ones(len(rows), np.float32)
    return sp.csr_matrix((ones, (rows, columns)), shape=(documents, len(labels)))


def filter_hash(path: str | Path | None) -> dict[str, str]:
    """Return the hash of a filter file, if there is one: results with different ones cannot be compared."""
    return {} if path is None else {"test_filter": sha256(path)}


def tuned_thresholds(run: Run, scored: Scored) -> dict[str, float]:
    """Return thresholds in score space: 0.0 (probability 0.5) and, with a validation split, those tuned on it only."""
    return note_thresholds(run, scored, tune_on_validation(run, scored))


def tune_on_validation(run: Run, scored: Scored) -> Tuned | None:
    """Tune thresholds on the validation split; None without one."""
    if scored.validation is None:
        return None
    with run.phase("thresholds"):
        return tune(scored.validation(), fixed=PROBABILITY_HALF, spill_folder=run.folder)


def note_thresholds(run: Run, scored: Scored, tuned: Tuned | None) -> dict[str, float]:
    """Write what each label reaches at tuned thresholds to ``label_statistics.tsv``, and return all thresholds."""
    if tuned is None:
        return dict(PROBABILITY_HALF)
    write_label_statistics(run.folder, scored.labels, scored.train_counts, tuned)
    return {**PROBABILITY_HALF, **tuned.thresholds}


def report(settings: Settings, run: Run, scored: Scored, thresholds: dict[str, float] | None = None) -> Result:
    """Score test with this package's metrics and write ``result.json`` and, beside it, ``per_document.npz``.

    Args:
        settings: Which documents were tested, and how.
        run: Its folder and clock, and the configuration's name and hash.
        scored: The trained model.
        thresholds: Those of a checkpoint; None to tune them on the validation split.

    Returns:
        The result; empty without a test split or where the run does not test.
    """
    if scored.test is None or not run.tests:
        return {}
    if thresholds is None:
        thresholds = tuned_thresholds(run, scored)
    with run.phase("test"):
        removed = (
            None
            if settings.test_filter_file is None or scored.outside is None  # it is of every test split
            else filtered_pairs(settings.test_filter_file, scored.labels, len(scored.outside))
        )
        evaluator = Evaluator(
            len(scored.labels),
            train_label_counts=scored.train_counts,
            num_train=scored.num_train,
            thresholds=thresholds,
            propensity=(settings.propensity_a, settings.propensity_b),
            outside=scored.outside,
            removed=removed,
            spill_folder=run.folder,
            keep_documents=True,
        )
        calibration = Calibration()
        for batch in calibration.reading(scored.test()):
            evaluator.update(*batch)
        metrics = evaluator.compute()
    content: dict[str, object] = {
        "dataset": dataset_name(settings),
        "config": run.config_name,
        "changed": without_paths(run.changed),
        "model": scored.model,
        "strategy": scored.strategy,
        "seed": settings.seed,
        "metrics": metrics,
        "counts": {**scored.counts, **evaluator.counts},
        "thresholds": thresholds,
        "truncated": scored.truncated,
        "planted_scores": scored.planted_scores,
        "calibration": calibration.compute() if scored.log_odds and removed is None else None,
        "compared": compared_in(run.folder),
        **run.totals(),
        "device": scored.device,
        "hashes": {**scored.hashes, **filter_hash(settings.test_filter_file), "config": run.config_hash},
        "backend": evaluator.backend,
    }
    if settings.refit != "none" and not settings.eval:
        content["refit"] = {"documents": settings.refit, "epochs": run.stop_after}
    result = completed(content)
    save_result(run.folder / "result.json", result, evaluator.per_document(scored.labels))
    return result


def completed(content: Mapping[str, object]) -> Result:
    """Add the processor and the versions here, in the order of the file and in types that JSON has."""
    processor = {"name": processor_name(), "cores": usable_cores()}
    whole = {"split": "test", "processor": processor, "versions": versions(), **content}
    result: Result = plain({
        key: whole[key] for key in Result.__annotations__ if key in whole and (whole[key] or key not in LEFT_OUT)
    })  # fmt: skip
    return result


def read_result(path: Path) -> Result:
    """Read what :func:`save_result` or another program wrote.

    Raises:
        DataError: There is no such file, or it is no result.
    """
    try:
        result = read_json(path, Result, what="a result", fix="mend it there, or leave it out", error=DataError)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=str(path), fix="check the path") from error
    if "metrics" not in result:
        raise DataError("not a result: it holds no metrics", where=str(path), fix="name a result.json")
    return result


def save_result(path: Path, result: Mapping[str, object], documents: PerDocument | None = None) -> None:
    """Write a result and, beside it, what its documents contribute; each whole or not at all."""
    if documents is not None:
        documents.save(per_document_path(path))
    write_json(path, result, allow_nan=False)


def per_document_path(result: Path) -> Path:
    """Return where the per-document values of a result lie.

    They are in ``per_document.npz`` of a run, or in ``mine.npz`` beside ``mine.json``.
    """
    return result.with_name(PER_DOCUMENT) if result.name == "result.json" else result.with_suffix(".npz")


def dataset_name(data: Data) -> str:
    """Name the data set: ``data_name`` where given, else the folder of the training or test file.

    The built-in one is called ``demo``.
    """
    if data.data_name and data.data_name != "unnamed":
        return data.data_name
    file = data.training_file or data.test_file
    if not file:
        return "unnamed"
    return "demo" if str(file).startswith("demo:") else Path(file).resolve().parent.name or "unnamed"


def versions() -> dict[str, str]:
    """Return the versions of Python and every installed package that can change a number."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def plain(value: object) -> Any:
    """Convert to types that JSON has: numpy numbers become Python's, NaN and infinities null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_predictions(path: str, rows: Iterable[tuple[Iterable[str], Iterable[float]]]) -> None:
    """Write LibMultiLabel's file of predictions.

    It has a line for each document, ``label:score`` with four digits, best first.
    """
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        for names, scores in rows:
            stream.write(" ".join(f"{name}:{score:.4}" for name, score in zip(names, scores, strict=True)) + "\n")
    logger.info("Predictions are in %s", path)


def device_name(device: torch.device) -> str:
    """Return ``cpu``, or the name of the accelerator."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
