"""label_statistics.tsv, written and read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.thresholds import Tuned
from plant_plugin.report.label_statistics import (
    LABEL_STATISTICS,
    LabelStatistics,
    read_label_statistics,
    read_train_counts,
    write_label_statistics,
)

TUNED = Tuned({"micro": 0.1}, np.array([4, 0]), {"micro": np.array([0.25, 0.0])})


def test_a_line_for_each_label(tmp_path: Path) -> None:
    assert read_label_statistics(tmp_path, ["a", "b"]) == {}
    write_label_statistics(tmp_path, ["a", "b"], np.array([7, 3]), TUNED)
    expected = {"a": LabelStatistics(7, 4, {"micro": 0.25}), "b": LabelStatistics(3, 0, {"micro": 0.0})}
    assert read_label_statistics(tmp_path, ["a", "b"]) == expected
    counts = read_train_counts(tmp_path, ["a", "b"])
    assert counts is not None
    assert counts.tolist() == [7, 3]


def test_training_documents_that_were_not_read_stay_unknown(tmp_path: Path) -> None:
    write_label_statistics(tmp_path, ["a", "b"], None, TUNED)
    assert read_train_counts(tmp_path, ["a", "b"]) is None
    assert [line.train_count for line in read_label_statistics(tmp_path, ["a", "b"]).values()] == [None, None]


def test_a_file_of_other_labels_is_refused(tmp_path: Path) -> None:
    write_label_statistics(tmp_path, ["a", "b"], None, TUNED)
    for labels in (["a"], ["b", "a"]):
        with pytest.raises(CheckpointError, match=LABEL_STATISTICS):
            read_train_counts(tmp_path, labels)
