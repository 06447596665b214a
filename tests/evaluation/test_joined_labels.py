from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.joined_labels import joined
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.evaluation.per_document import PerDocument, load_per_document
from plant_plugin.evaluation.resampling import DocumentSums


def contributions(labels: int, names: int) -> tuple[PerDocument, dict[str, float]]:
    random = np.random.default_rng(labels + names)
    truth, scores = (random.random((30, labels + names)) < 0.2).astype(float), random.normal(size=(30, labels + names))
    counts = np.concatenate([np.arange(1, labels + 1), np.full(names, -1)])
    evaluator = Evaluator(labels + names, train_label_counts=counts, num_train=50, keep_documents=True)
    evaluator.update(scores.astype(np.float32), truth)
    return evaluator.per_document([f"l{number:03}" for number in range(labels + names)]), evaluator.compute()


@pytest.mark.parametrize("names", [0, 7])
def test_documents_give_the_values_of_the_result(names: int, tmp_path: Path) -> None:
    documents, values = contributions(10, names)
    documents.save(tmp_path / "per_document.npz")
    documents = load_per_document(tmp_path / "per_document.npz")
    metrics = [parse_metric(name) for name in ("Macro-F1@0.5", "Micro-F1@0.5", "P@5", "Macro-F1@0.5:1-5")]
    sums = DocumentSums(documents, metrics).resampled(np.ones((1, 30)))[0]
    assert dict(zip([metric.name for metric in metrics], sums.tolist(), strict=True)) == pytest.approx(
        {metric.name: values[metric.name] for metric in metrics}
    )


def test_labels_that_training_showed_to_either_count_for_both_and_those_of_names_for_none() -> None:
    closed, (wide, _) = contributions(4, 0)[0], contributions(3, 2)
    ours, theirs = joined([closed], [wide])
    assert ours[0].labels == theirs[0].labels == ["l000", "l001", "l002", "l003", "l004"]
    assert [side[0].train_counts.tolist() for side in (ours, theirs)] == [[1, 2, 3, 4, -1], [1, 2, 3, 0, -1]]


def test_without_counts_nothing_is_known_of_them() -> None:
    ones = sp.csr_matrix(np.eye(2))
    first, second = (PerDocument(list(labels), ones, np.array([[0], [1]]), {}) for labels in ("ab", "bc"))
    assert joined([first], [second])[0][0].train_counts is None
