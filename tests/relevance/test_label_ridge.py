"""Ridge regression label by label, beside the exact one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from plant_plugin.relevance import label_ridge
from plant_plugin.relevance.label_ridge import solve_by_label
from plant_plugin.relevance.planted_scores import ARRAYS, PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge

OPTIONS = RidgeOptions(model="label_ridge", penalty=0.5, top=10**6)


def made_up(documents: int, labels: int, terms: int, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Rows of norm 1 in which words of a document's labels stand beside frequent and rare others."""
    random = np.random.default_rng(seed)
    truth = random.random((documents, labels)) < 2 / labels
    words = (random.random((documents, terms)) < 0.3 / np.arange(1, terms + 1) ** 0.5) * random.random(terms)
    own = truth.astype(float) @ (random.random((labels, terms)) < 4 / terms)
    table = (words + own).astype(np.float32)
    table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-6)
    return sp.csr_array(table), sp.csr_array(truth.astype(np.float32))


def test_on_all_documents_it_is_the_exact_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    features, targets = made_up(50, 6, 40)
    for name, value in (("DRAWN", 2000), ("PASSES", 300), ("STILL", 0.0)):
        monkeypatch.setattr(label_ridge, name, value)
    found = solve_by_label(features, targets, OPTIONS).toarray()
    exact = solve_ridge(features, targets, OPTIONS).toarray()
    assert np.abs(exact).max() > 0.1
    np.testing.assert_allclose(found, exact, atol=2e-5)


def test_one_document_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """One document of norm 1 that has the label: w = x/(1+λ)."""
    monkeypatch.setattr(label_ridge, "STILL", 0.0)
    features = sp.csr_array(np.array([[0.6, 0.8, 0]], np.float32))
    found = solve_by_label(features, sp.csr_array(np.ones((1, 1), np.float32)), OPTIONS).toarray()
    np.testing.assert_allclose(found, [[0.4, 0.8 / 1.5, 0]], atol=1e-6)


def test_of_many_documents_it_ranks_labels_nearly_as_the_exact_solution() -> None:
    features, targets = made_up(3000, 400, 600)
    train, unseen = slice(0, 2400), slice(2400, 3000)
    truth = targets[unseen].toarray()

    def precision(weights: sp.csr_array) -> float:
        scores = (features[unseen] @ weights.T).toarray()
        return float(np.take_along_axis(truth, np.argsort(-scores, axis=1)[:, :2], axis=1).mean())

    exact, found = (
        precision(solve(features[train], targets[train], OPTIONS)) for solve in (solve_ridge, solve_by_label)
    )
    assert exact > 0.3
    assert found == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("cells", [label_ridge.CELLS, 30])
def test_threads_and_blocks_change_nothing(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    features, targets = made_up(300, 20, 60)
    whole = solve_by_label(features, targets, OPTIONS)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    monkeypatch.setattr(label_ridge, "CELLS", cells)
    again = solve_by_label(features, targets, OPTIONS)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))


def test_keeps_the_largest_weights_and_none_of_a_label_without_documents() -> None:
    features, targets = made_up(300, 20, 60)
    targets = sp.csr_array(sp.hstack([targets, sp.csr_array((300, 1), dtype=np.float32)]))
    whole = solve_by_label(features, targets, OPTIONS).toarray()
    pruned = solve_by_label(features, targets, dataclasses.replace(OPTIONS, top=3)).toarray()
    assert (whole[20] == 0).all()
    for full, kept in zip(whole[:20], pruned[:20], strict=True):
        assert set(np.flatnonzero(kept)) == set(np.argsort(-np.abs(full))[:3])
        np.testing.assert_array_equal(kept[kept != 0], full[kept != 0])


def test_hard_negatives_are_the_highest_labels_but_a_documents_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_ridge, "HARD", 2)
    rows, first = sp.csr_array(np.eye(2, dtype=np.float32)), np.array([[9, 0], [3, 0], [2, -1], [1, 5]], np.float32)
    own = sp.csr_array(np.array([[1, 0, 0, 0], [0, 0, 0, 0]], np.float32))
    found = label_ridge._hard(rows, own, sp.csr_array(first)).toarray()
    np.testing.assert_array_equal(found, [[0, 0], [1, 0], [1, 0], [0, 1]])


def test_weights_are_kept_in_half_precision(tmp_path: Path) -> None:
    texts = [f"word{number % 7} word{number % 5} word{number % 3}" for number in range(40)]
    labels = sp.csr_array((np.arange(40)[:, None] % 7 == np.arange(7)).astype(np.float32))
    model = PlantedScores.fit(texts, labels, OPTIONS)
    model = model.with_names(["word1"] * 7, np.arange(7))
    model = model.with_name_weight(1.7)
    model.save(tmp_path, "hash")
    with np.load(tmp_path / ARRAYS) as content:
        assert content["data"].dtype == np.float16
    again = PlantedScores.load(tmp_path, "hash")
    assert again.linear.weights.dtype == np.float32
    np.testing.assert_array_equal(again.scores(texts), model.scores(texts))
    again.save(tmp_path, "hash")
    with np.load(tmp_path / ARRAYS) as content:
        assert content["data"].dtype == np.float16


def test_auto_of_few_documents_is_the_exact_ridge_to_the_last_bit() -> None:
    texts = [f"word{number % 7} word{number % 5} word{number % 3}" for number in range(40)]
    labels = sp.csr_array((np.arange(40)[:, None] % 7 == np.arange(7)).astype(np.float32))
    exact, auto = (
        PlantedScores.fit(texts, labels, dataclasses.replace(OPTIONS, model=model)) for model in ("ridge", "auto")
    )
    np.testing.assert_array_equal(auto.linear.weights.toarray(), exact.linear.weights.toarray())
