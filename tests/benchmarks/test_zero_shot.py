"""Metrics over labels that training never shows, which these are, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from zero_shot import PAGE, RESULTS, evaluated, keep, page, read_task, zero_shot_metrics

from plant_plugin.evaluation.metrics import Evaluator


def test_documents_without_an_unseen_label_count_for_nothing() -> None:
    scores = np.array([[3.0, 2, 1], [1, 2, 3], [1, 2, 3]])
    truth = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 1]])
    metrics = zero_shot_metrics(scores, truth)
    assert (metrics["documents"], metrics["mentions"]) == (2, 3)
    assert metrics["RP@5"] == 100
    assert metrics["recall@10"] == 100
    ideal = 1 + 1 / np.log2(3)
    assert metrics["nDCG@5"] == pytest.approx(100 * (1 + (1 + 1 / np.log2(4)) / ideal) / 2)


def test_a_label_that_is_not_proposed_is_not_recalled() -> None:
    scores = np.array([[1.0, -np.inf]])
    assert zero_shot_metrics(scores, np.array([[0, 1]]))["recall@10"] == 0
    assert zero_shot_metrics(scores, sp.csr_array(np.array([[1, 0]])))["recall@10"] == 100


def test_as_the_package_counts() -> None:
    random = np.random.default_rng(1)
    scores, truth = random.random((40, 80)), random.random((40, 80)) < 0.05
    truth[:, 0] |= ~truth.any(axis=1)
    metrics = zero_shot_metrics(scores, truth)
    evaluator = Evaluator(80, metrics=["RP@5", "nDCG@5"])
    evaluator.update(scores.astype(np.float32), sp.csr_matrix(truth))
    known = evaluator.compute()
    for metric in ("RP@5", "nDCG@5"):
        assert metrics[metric] == pytest.approx(100 * known[metric], abs=1e-3)
    best = np.argsort(-scores, axis=1)
    for cutoff in (10, 50):
        hits = np.take_along_axis(truth, best[:, :cutoff], axis=1).sum()
        assert metrics[f"recall@{cutoff}"] == pytest.approx(100 * hits / truth.sum())


def test_unseen_labels_are_those_of_no_training_file(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name, text in (("train", "A\tx\n"), ("valid", "A B\tfirst\nA\tx\n"), ("test", "C B\ty\nA\tz\nD\tlast\n")):
        (tmp_path / "d" / f"{name}.txt").write_text(text)
    (tmp_path / "d" / "label_names.tsv").write_text("A\ta\nB\tb\nB\tbb\nE\te\nC\tc\n")
    task = read_task(tmp_path, "d", "test", ["train"])
    assert task.labels == ["B", "C", "D", "E"]
    assert (task.used, task.texts) == (3, ["y", "last"])
    assert task.truth.toarray().tolist() == [[True, True, False, False], [False, False, True, False]]
    assert [row.name for row in task.names] == ["b", "bb", "e", "c"]
    later = read_task(tmp_path, "d", "test", ["train", "valid"])
    assert (later.labels, later.used, later.truth.sum()) == (["C", "D", "E"], 2, 2)
    scores = np.array([[3.0, 1, 0, 4], [0, 0, 1, 4]])
    of_both = evaluated(task, scores)
    assert of_both["used"]["nDCG@5"] == 100
    assert of_both["named"]["nDCG@5"] < 100
    assert evaluated(task, scores[:, :3]).keys() == {"used"}


def test_a_row_is_replaced_by_one_of_the_same_method_and_seeds_make_one(tmp_path: Path) -> None:
    row = {"data": "d", "split": "test", "among": "used", "labels": 3, "method": "bm25", "seeds": []}
    metrics = {"documents": 2.0, "mentions": 3.0, "RP@5": 1.0, "nDCG@5": 2.0, "recall@10": 3.0, "recall@50": 4.0}
    path = tmp_path / "rows.json"
    keep([row | {"metrics": metrics}], path)
    ours = row | {"method": "ours", "metrics": metrics, "seeds": [1]}
    keep([row | {"metrics": metrics | {"RP@5": 9.0}}, ours], path)
    keep([ours | {"seeds": [2, 3], "metrics": metrics | {"RP@5": 7.0}}], path)
    lines = page(json.loads(path.read_text())).splitlines()[-2:]
    assert lines == ["| d | test | used | 3 | 2 | 3 | bm25 | – | 9.0 | 2.0 | 3.0 | 4.0 |",
                     "| d | test | used | 3 | 2 | 3 | ours | 3 | 5.0 | 2.0 | 3.0 | 4.0 |"]  # fmt: skip


def test_the_page_is_of_the_results() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))
