"""``label_statistics.tsv``: each label's documents and its F1 on the validation split, beside the model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.files import atomic_write

LABEL_STATISTICS = "label_statistics.tsv"
UNKNOWN = "-"


@dataclass(frozen=True)
class LabelStatistics:
    """One line of the file.

    Attributes:
        train_count: Training documents that have the label; None where these were not read.
        validation_count: Validation documents that have it.
        validation_f1: Threshold's name -> F1 on the validation documents. The thresholds were tuned on the same
            documents, over all labels together.
    """

    train_count: int | None
    validation_count: int
    validation_f1: dict[str, float]


def write_label_statistics(
    folder: Path, labels: list[str], train_counts: npt.NDArray[np.int64] | None, tuned: Tuned
) -> None:
    """Write a line for each label, in column order.

    Args:
        folder: Of the run.
        labels: The label set.
        train_counts: int64 (L,), or None.
        tuned: What the validation split said.
    """
    training = [UNKNOWN] * len(labels) if train_counts is None else train_counts.tolist()
    columns = {
        "label": labels,
        "training": training,
        "validation": tuned.documents.tolist(),
        **{f"F1@{name}": [f"{value:.4f}" for value in values] for name, values in tuned.f1.items()},
    }
    lines = ["\t".join(columns), *("\t".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    with atomic_write(folder / LABEL_STATISTICS) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_train_counts(folder: Path, labels: list[str]) -> npt.NDArray[np.int64] | None:
    """Training documents of each label, int64 (L,); None where the file is not there or does not know them.

    Raises:
        CheckpointError: The file is torn, or of another label set.
    """
    first = read_label_statistics(folder, 0, labels[0])
    if first is None or first.train_count is None:
        return None
    rows = [line.split("\t") for line in (folder / LABEL_STATISTICS).read_text(encoding="utf-8").splitlines()[1:]]
    if [row[0] for row in rows] != labels:
        raise _torn(folder / LABEL_STATISTICS)
    return np.array([int(row[1]) for row in rows], dtype=np.int64)


def read_label_statistics(folder: Path, column: int, label: str) -> LabelStatistics | None:
    """The line of a label; None where the run had no validation split or is older than the file.

    Args:
        folder: Of the model.
        column: Number of the label.
        label: Its name.

    Raises:
        CheckpointError: The file is torn, or of another label set.
    """
    path = folder / LABEL_STATISTICS
    if not path.is_file():
        return None
    try:
        head, *lines = path.read_text(encoding="utf-8").splitlines()
        row = dict(zip(head.split("\t"), lines[column].split("\t"), strict=True))
        if row.pop("label") != label:
            raise ValueError("another label")
        training, validation = row.pop("training"), int(row.pop("validation"))
        f1 = {name.removeprefix("F1@"): float(value) for name, value in row.items()}
        return LabelStatistics(None if training == UNKNOWN else int(training), validation, f1)
    except (ValueError, IndexError, KeyError) as error:
        raise _torn(path) from error


def _torn(path: Path) -> CheckpointError:
    fix = "remove it; only what `plant label` says of validation documents is lost"
    return CheckpointError("the file is torn, or does not belong to this model", where=str(path), fix=fix)
