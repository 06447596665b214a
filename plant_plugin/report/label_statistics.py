"""``label_statistics.tsv``: each label's documents and its F1 on the validation split, beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.files import write_text

LABEL_STATISTICS = "label_statistics.tsv"
UNKNOWN = "-"


@dataclass(frozen=True)
class LabelStatistics:
    """One line of the file."""

    train_count: int | None  # training documents that have the label; None where these were not read
    validation_count: int  # validation documents that have it
    validation_f1: dict[str, float]  # by threshold's name; tuned on the same documents, over all labels together


def write_label_statistics(
    folder: Path, labels: list[str], train_counts: npt.NDArray[np.int64] | None, tuned: Tuned
) -> None:
    """Write a line for each label, in column order, into the run's folder."""
    training = [UNKNOWN] * len(labels) if train_counts is None else train_counts[train_counts >= 0].tolist()
    columns = {
        "label": labels,
        "training": training,
        "validation": tuned.documents.tolist(),
        **{f"F1@{name}": [f"{value:.4f}" for value in values] for name, values in tuned.f1.items()},
    }
    rows = zip(*columns.values(), strict=False)  # those that only a name makes known are the last
    lines = ["\t".join(columns), *("\t".join(map(str, row)) for row in rows)]
    write_text(folder / LABEL_STATISTICS, "".join(f"{line}\n" for line in lines))


def read_train_counts(folder: Path, labels: list[str]) -> npt.NDArray[np.int64] | None:
    """Read the training documents of each label, int64 (L,); None where the file is not there or does not know them.

    Raises:
        CheckpointError: As of :func:`read_label_statistics`.
    """
    counts = [line.train_count for line in read_label_statistics(folder, labels).values()]
    return np.array(counts, dtype=np.int64) if counts and None not in counts else None


def read_label_statistics(folder: Path, labels: list[str]) -> dict[str, LabelStatistics]:
    """Read the line of each label of the model, in their order; none without a file: there was no validation split.

    Raises:
        CheckpointError: The file is torn, or of another label set.
    """
    path, statistics = folder / LABEL_STATISTICS, dict[str, LabelStatistics]()
    if not path.is_file():
        return statistics
    try:
        head, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        for label, row in zip(labels, rows, strict=True):
            name, training, validation, *f1 = row
            if name != label:
                raise ValueError("another label")
            of_names = dict(zip((column.removeprefix("F1@") for column in head[3:]), map(float, f1), strict=True))
            train_count = None if training == UNKNOWN else int(training)
            statistics[label] = LabelStatistics(train_count, int(validation), of_names)
    except ValueError as error:
        fix = "remove it; only what `plant label` says of validation documents is lost"
        what = "the file is torn, or does not belong to this model"
        raise CheckpointError(what, where=str(path), fix=fix) from error
    return statistics
