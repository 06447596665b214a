"""``label_statistics.tsv``: each label's documents and its F1 on the validation split, beside the model."""

from __future__ import annotations

from collections.abc import Mapping
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
    training = [UNKNOWN] * len(labels) if train_counts is None else train_counts.tolist()
    columns = {
        "label": labels,
        "training": training,
        "validation": tuned.documents.tolist(),
        **{f"F1@{name}": [f"{value:.4f}" for value in values] for name, values in tuned.f1.items()},
    }
    lines = ["\t".join(columns), *("\t".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    write_text(folder / LABEL_STATISTICS, "".join(f"{line}\n" for line in lines))


def read_train_counts(folder: Path, labels: list[str]) -> npt.NDArray[np.int64] | None:
    """Read the training documents of each label, int64 (L,); None where the file is not there or does not know them.

    Raises:
        CheckpointError: The file is torn, or of another label set.
    """
    counts = [line.train_count for line in _lines(folder, dict(enumerate(labels)), len(labels))]
    known = [count for count in counts if count is not None]
    return np.array(known, dtype=np.int64) if known and len(known) == len(labels) else None


def read_label_statistics(folder: Path, column: int, label: str) -> LabelStatistics | None:
    """Read the line of a label, the ``column``-th of the model; None without a file: there was no validation split.

    Raises:
        CheckpointError: The file is torn, or of another label set.
    """
    return next(iter(_lines(folder, {column: label})), None)


def _lines(folder: Path, labels: Mapping[int, str], lines: int | None = None) -> list[LabelStatistics]:
    """Read the lines of some labels, by their columns, of a file of so many; none without a file."""
    path, statistics = folder / LABEL_STATISTICS, []
    if not path.is_file():
        return []
    try:
        head, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        if lines is not None and len(rows) != lines:
            raise ValueError("more labels, or fewer")
        for column, label in labels.items():
            row = dict(zip(head, rows[column], strict=True))
            if row.pop("label") != label:
                raise ValueError("another label")
            training, validation = row.pop("training"), int(row.pop("validation"))
            f1 = {name.removeprefix("F1@"): float(value) for name, value in row.items()}
            statistics.append(LabelStatistics(None if training == UNKNOWN else int(training), validation, f1))
    except (ValueError, IndexError, KeyError) as error:
        fix = "remove it; only what `plant label` says of validation documents is lost"
        what = "the file is torn, or does not belong to this model"
        raise CheckpointError(what, where=str(path), fix=fix) from error
    return statistics
