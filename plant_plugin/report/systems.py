"""Results grouped into systems, each over its seeds, and which of their metrics may be set beside another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plant_plugin.errors import DataError
from plant_plugin.evaluation.names import Metric, parse_metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.resampling import DocumentSums, computable
from plant_plugin.report.result import Result

ReadResult = tuple[str, Result, PerDocument | None]  # where it was read, the result, what each document contributes
AGREE = 1e-5  # float32 beside float64
OVER_ALL_LABELS = ("Macro-P", "Macro-R", "Macro-F1", "Macro-F1-caml", "AUC-micro")
TOLD_APART = "write NAME=PATH to tell two systems apart"
FILTERS = "filters (test_filter_file)"
CHECKED = ("P@1", "Micro-F1@0.5", "Macro-F1@0.5")


@dataclass(repr=False)
class System:
    """One system's results."""

    name: str  # its row in tables
    results: list[Result]  # one a seed
    documents: list[PerDocument] = field(default_factory=list)  # of each seed; empty where any seed lacks them
    without_chance: bool = False  # so that its first run is that of every seed

    def values(self, metric: str) -> list[float]:
        """Return the metric of every seed that has it."""
        values = (result["metrics"].get(metric) for result in self.results)
        return [value for value in values if value is not None]

    def told(self, *keys: str) -> object:
        """Return an entry of the first seed's result, None where it is missing."""
        entry: object = self.results[0]
        for key in keys:
            entry = entry.get(key) if isinstance(entry, dict) else None
        return entry


def seeds_of(results: Sequence[Result]) -> list[int | None]:
    """Return the seed of each result, None where it says none."""
    return [result.get("seed") for result in results]


def system_of(name: str, runs: Sequence[ReadResult]) -> System:
    """Join the results of all seeds of a system.

    Args:
        name: Of the system.
        runs: For each seed: where it was read, for errors; its result; what each document contributes, if that is kept.

    Raises:
        DataError: Two results of one seed, seeds of different test splits, label sets or filters, or per-document
            values that do not belong to their result.
    """
    results = [result for _, result, _ in runs]
    seeds = seeds_of(results)
    if len(set(seeds)) < len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise DataError(f"two results of seed {twice} for {name}", where=runs[-1][0], fix=TOLD_APART)
    for key, what in (("test", "test splits"), ("labels", "label sets"), ("test_filter", FILTERS)):
        if len({result.get("hashes", {}).get(key) for result in results}) > 1:
            raise DataError(f"the seeds of {name} have different {what}", where=runs[0][0], fix=TOLD_APART)
    for where, result, documents in runs:
        if documents is not None:
            _check_documents(where, result, documents)
    documents_of = [documents for _, _, documents in runs if documents is not None]
    return System(name, results, documents_of if len(documents_of) == len(runs) else [])


def _check_documents(where: str, result: Result, documents: PerDocument) -> None:
    """Refuse per-document values that give other metrics than the result."""
    expected = {parse_metric(name): value for name in CHECKED if (value := result["metrics"].get(name)) is not None}
    metrics = [metric for metric in expected if computable(metric, documents)]
    if not metrics:
        return
    values = DocumentSums(documents, metrics).resampled(np.ones((1, len(documents))))[0]
    for metric, value in zip(metrics, values, strict=True):
        if abs(value - expected[metric]) > AGREE:
            what = f"the per-document values beside it give another {metric.name} than the result"
            raise DataError(what, where=where, fix="copy both files of one run")


def check_same_split(system: System, baseline: System) -> None:
    """Refuse results of different test documents.

    Raises:
        DataError: Another split, another number of documents, or (where per-document values are kept) documents whose
            true labels differ.
    """
    filters = (FILTERS, ("hashes", "test_filter"))  # nowhere said: none
    number = ("numbers of documents", ("counts", "documents"))
    for what, keys in (("test splits", ("hashes", "test")), number, filters):
        ours, theirs = system.told(*keys), baseline.told(*keys)
        if ours != theirs:
            raise DataError(
                f"{system.name} and {baseline.name} have different {what} "
                f"({str(ours)[:12]} and {str(theirs)[:12]}): their numbers say nothing about each other",
                fix="evaluate both on the same test file",
            )
    if system.documents and baseline.documents:
        common = sorted({*system.documents[0].labels} & {*baseline.documents[0].labels})
        first = baseline.documents[0].only(common)
        truths = [documents.only(common) for documents in (*system.documents, *baseline.documents)]
        if any(truth.shape != first.shape or abs(truth - first).nnz for truth in truths):
            raise DataError(
                f"the documents of {system.name} and {baseline.name} are in different orders, or have different "
                "true labels: they cannot be paired",
                fix="run them again with this version, or delete the .npz beside a result to compare without tests",
            )


def obstacle(metric: Metric, system: System, baseline: System) -> str | None:
    """Say why a metric of two systems on one split cannot be compared; None where it can."""
    if system.told("hashes", "labels") == baseline.told("hashes", "labels"):
        if metric.needs_training_counts and len({*_training(system), *_training(baseline)}) > 1:
            return "frequency bins and propensities come from different training counts"
        return None
    sizes = f"L = {system.told('counts', 'labels')} against {baseline.told('counts', 'labels')}"
    if metric.family in OVER_ALL_LABELS:
        return f"a mean over all labels, and the label sets differ ({sizes})"
    if metric.needs_training_counts:
        return f"frequency bins and propensities come from different label sets ({sizes})"
    if metric.family not in ("P", "MAP-gold") and not _same_truth(system, baseline):
        return f"the label sets differ ({sizes}) and leave different true labels to be found"
    return None


def counted_on(documents: PerDocument) -> tuple[bytes | None, int | None, tuple[float, float]]:
    """Return what frequency bins and propensities come from: equal where these may be compared."""
    counts = None if documents.train_counts is None else documents.train_counts.tobytes()
    return counts, documents.num_train, documents.propensity


def _training(system: System) -> set[object]:
    """Return the training counts of the seeds where they are kept, else the split's hash."""
    if not system.documents or system.documents[0].train_counts is None:
        return {result.get("hashes", {}).get("train") for result in system.results}
    return {counted_on(documents) for documents in system.documents}


def _same_truth(system: System, baseline: System) -> bool:
    """Tell whether both label sets hold the same true labels of the test split."""
    if system.documents and baseline.documents:
        ours, theirs = system.documents[0], baseline.documents[0]
        union = sorted({*ours.labels, *theirs.labels})
        return abs(ours.under(union).truth - theirs.under(union).truth).nnz == 0
    keys = (("counts", "labels_present"), ("counts", "dropped_labels"))
    return all(system.told(*key) == baseline.told(*key) is not None for key in keys)
