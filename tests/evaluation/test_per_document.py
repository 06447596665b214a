"""What every document contributes, moved to other labels and read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import DataError
from plant_plugin.evaluation.per_document import PerDocument, load_per_document


def documents() -> PerDocument:
    truth, predicted = sp.csr_matrix([[1.0, 0.0], [1.0, 1.0]]), sp.csr_matrix([[0.0, 1.0], [0.0, 1.0]])
    return PerDocument(
        ["a", "c"], truth, np.array([[1, 0], [1, 2]]), {"micro": predicted}, np.array([0.5, 1.0], np.float32),
        np.array([7, 3]), 9,
    )  # fmt: skip


def test_a_larger_label_set_moves_columns() -> None:
    moved = documents().under(["c", "b", "a"])
    assert moved.truth.toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    assert moved.top.tolist() == [[0, 2], [0, 3]]  # 3: nothing was scored
    assert moved.train_counts is not None
    assert moved.train_counts.tolist() == [3, -1, 7]  # the added label is in no mean over labels
    assert moved.predicted["micro"].toarray().tolist() == [[1, 0, 0], [1, 0, 0]]


def test_more_true_labels_lower_average_precision() -> None:
    more = documents().finding(sp.csr_matrix([[1.0, 1.0], [1.0, 1.0]]))
    assert more.average_precision == pytest.approx([0.25, 1.0])


def test_a_file_holds_it(tmp_path: Path) -> None:
    documents().save(tmp_path / "mine.npz")
    read = load_per_document(tmp_path / "mine.npz")
    assert (read.labels, read.num_train, read.top.tolist()) == (["a", "c"], 9, [[1, 0], [1, 2]])
    assert read.gold_precision is None
    assert (read.predicted["micro"] != documents().predicted["micro"]).nnz == 0


def test_counts_that_do_not_fit_are_named(tmp_path: Path) -> None:
    arrays = {**documents().arrays(), "truth_counts": np.array([1, 1], np.uint32)}
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises(DataError, match="truth_counts does not sum"):
        load_per_document(tmp_path / "mine.npz")
