"""Scores of LibMultiLabel's models as the evaluation takes them."""

from __future__ import annotations

import numpy as np

from plant_plugin.host.scores import limited, logits_of, sparse_truth


def test_logits_keep_the_order_and_the_half() -> None:
    scores = logits_of(np.array([[0.0, 1e-9, 0.25, 0.5, 0.75, 1.0]]))
    assert scores.dtype == np.float32
    assert scores[0, 0] == -np.inf
    assert scores[0, 3] == 0.0
    assert np.isfinite(scores[0, 5])
    np.testing.assert_allclose(scores[0, [2, 4]], [-np.log(3), np.log(3)], rtol=1e-6)
    assert (np.diff(scores) > 0).all()


def test_truth_stays_sparse() -> None:
    truth = sparse_truth(np.array([[0, 1], [0, 0]]))
    assert truth.shape == (2, 2)
    assert truth.nnz == 1


def test_limits_leave_their_share_of_the_batches() -> None:
    batches = np.arange(10)
    for limit, left in ((0.35, 3), (1.0, 10), (4, 4)):
        assert list(limited(batches, {"limit_test_batches": limit}, "test")) == list(range(left))
