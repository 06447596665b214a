from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.used_labels import only_used


def documents(counts: list[int]) -> PerDocument:
    """Two documents of six labels: the second is true, the fourth predicted, the fifth among the best."""
    truth, predicted = (sp.csr_matrix(np.eye(1, 6, column)) for column in (1, 3))
    both = [sp.csr_matrix(sp.vstack([pairs, sp.csr_matrix((1, 6))])) for pairs in (truth, predicted)]
    top = np.array([[4, 1], [0, 6]])
    return PerDocument(list("abcdef"), both[0], top, {"0.5": both[1]}, train_counts=np.array(counts))


def test_names_that_no_document_has_to_do_with_are_left_out() -> None:
    used = only_used(documents([3, -1, -1, -1, -1, -1]))
    assert used.labels == ["a", "b", "d", "e"]
    assert used.truth.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert used.predicted["0.5"].toarray().tolist() == [[0, 0, 1, 0], [0, 0, 0, 0]]
    assert used.top.tolist() == [[3, 1], [0, 4]]  # 4: nothing was scored
    assert used.train_counts is not None
    assert used.train_counts.tolist() == [3, -1, -1, -1]


def test_labels_of_training_all_stay() -> None:
    closed = documents([3, 0, 0, 0, 1, 0])
    assert only_used(closed) is closed


def test_names_change_no_mean_over_labels_and_count_in_those_over_pairs() -> None:
    random = np.random.default_rng(0)
    scores, truth = random.normal(size=(20, 8)).astype(np.float32), (random.random((20, 8)) < 0.3).astype(np.float32)
    counts = random.integers(0, 9, 8)
    names = np.full((20, 500), -np.inf, np.float32)
    closed, wide = (
        Evaluator(8, train_label_counts=counts, num_train=50),
        Evaluator(508, train_label_counts=np.concatenate([counts, np.full(500, -1)]), num_train=50),
    )
    closed.update(scores, truth)
    wide.update(np.hstack([scores, names]), np.hstack([truth, np.zeros_like(names)]))
    expected, found = closed.compute(), wide.compute()
    for name in ("Macro-F1@0.5", "Macro-P@0.5", "Micro-F1@0.5", "P@5", "PSP@5", "nDCG@5", "MAP"):
        assert found[name] == pytest.approx(expected[name]), name
    names[:, 3] = 9.0  # one that is nowhere true is predicted everywhere
    wrong = Evaluator(508, train_label_counts=np.concatenate([counts, np.full(500, -1)]), num_train=50)
    wrong.update(np.hstack([scores, names]), np.hstack([truth, np.zeros_like(names)]))
    values = wrong.compute()
    assert values["Micro-P@0.5"] < expected["Micro-P@0.5"]
    assert values["P@1"] == 0
    assert values["Macro-F1@0.5"] == pytest.approx(expected["Macro-F1@0.5"])
