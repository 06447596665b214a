from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plant_plugin.errors import PlantError
from plant_plugin.report.scored import label_counts, labels_outside, limited, logits_of, sparse_truth, write_predictions


def test_logits_keep_the_order_and_the_half() -> None:
    scores = logits_of(np.array([[0.0, 1e-9, 0.25, 0.5, 0.75, 1.0]]))
    assert scores.dtype == np.float32
    assert scores[0, 0] == -np.inf
    assert scores[0, 3] == 0.0
    assert np.isfinite(scores[0, 5])
    np.testing.assert_allclose(scores[0, [2, 4]], [-np.log(3), np.log(3)], rtol=1e-6)
    assert (np.diff(scores) > 0).all()


def test_a_label_counts_once_per_document() -> None:
    assert label_counts([["a", "a", "c"], ["a"], ["unknown"]], ["a", "b", "c"]).tolist() == [2, 0, 1]


def test_an_unknown_label_counts_once_per_document() -> None:
    assert labels_outside([["a", "x", "x", "y"], [], ["b"]], ["a", "b"]).tolist() == [2, 0, 0]


def test_truth_stays_sparse() -> None:
    truth = sparse_truth(np.array([[0, 1], [0, 0]]))
    assert truth.shape == (2, 2)
    assert truth.nnz == 1


def test_predictions_have_four_digits(tmp_path: Path) -> None:
    path = tmp_path / "predictions.txt"
    write_predictions(str(path), [(["a", "b"], [1.23456, -0.5]), ([], [])])
    assert path.read_text() == "a:1.235 b:-0.5\n\n"


def test_predictions_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlantError, match="cannot be written"):
        write_predictions(str(tmp_path / "file" / "predictions.txt"), [])


def test_limits_leave_their_share_of_the_batches() -> None:
    batches = np.arange(10)
    for limit, left in ((0.35, 3), (1.0, 10), (4, 4)):
        assert list(limited(batches, {"limit_test_batches": limit}, "test")) == list(range(left))
