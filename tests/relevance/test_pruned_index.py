"""Labels that are looked up in a pruned index, beside a score of every label."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.relevance import kept_weights, label_ridge, linear, pruned_index, term_table
from plant_plugin.relevance.label_ridge import solve_by_label
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.pruned_index import PrunedIndex
from plant_plugin.relevance.ridge import RidgeOptions

LABELS = 40


def weights_and_rows() -> tuple[sp.csr_array, sp.csr_array]:
    random = np.random.default_rng(0)
    weights = random.normal(size=(LABELS, 30)) * (random.random((LABELS, 30)) < 0.5)
    rows = random.random((25, 30)) * (random.random((25, 30)) < 0.2)
    rows[3] = 0  # a text without a known term
    return sp.csr_array(weights.astype(np.float32)), sp.csr_array(rows.astype(np.float32))


@pytest.fixture
def texts() -> tuple[list[str], sp.csr_array, list[str]]:
    random = np.random.default_rng(1)
    found = [" ".join(f"word{word}" for word in random.integers(40, size=8)) for _ in range(130)]
    labels = random.random((100, LABELS)) < 0.08
    labels[:, -1] = False  # a label of nobody
    return found[:100], sp.csr_array(labels.astype(np.float32)), [*found[100:], "unknown"]


@pytest.mark.parametrize("kept", [1, 3, 7, 1000])
def test_of_each_term_the_largest_weights_above_0_are_kept(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruned_index, "KEPT", kept)
    weights, _ = weights_and_rows()
    index = PrunedIndex.of(weights)
    for term, column in enumerate(weights.toarray().T):
        own = slice(index.offsets[term], index.offsets[term + 1])
        expected = [label for label in np.argsort(-column)[:kept] if column[label] > 0]
        assert sorted(index.labels[own].tolist()) == sorted(expected)
        np.testing.assert_array_equal(index.weights[own], column[index.labels[own]])


def test_weights_whose_sums_are_no_numbers_name_labels_all_the_same() -> None:
    weights = sp.csr_array(np.tile(np.array([[3e38, 3e38]], np.float32), (LABELS, 1)))
    row = sp.csr_array(np.array([[3e38, -3e38]], np.float32))
    labels, _ = PrunedIndex.of(weights).candidates(row, weights, 5)
    assert len({*labels[0].tolist()} & {*range(LABELS)}) == 5 * pruned_index.CANDIDATES
    none = sp.csr_array((np.full(2, np.nan, np.float32), np.arange(2), np.array([0, 1, 2])), shape=(2, 2))
    assert len(PrunedIndex.of(none).labels) == 0


def test_candidates_are_those_of_the_index_and_have_their_whole_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pruned_index, "KEPT", 5)
    weights, rows = weights_and_rows()
    index = PrunedIndex.of(weights)
    whole = (rows @ weights.T).toarray()
    by_term = np.zeros((30, LABELS), np.float32)
    for term in range(30):
        own = slice(index.offsets[term], index.offsets[term + 1])
        by_term[term, index.labels[own]] = index.weights[own]
    rough = rows.toarray() @ by_term
    labels, scores = index.candidates(rows, weights, 2)
    assert labels.shape == (25, 2 * pruned_index.CANDIDATES)
    for row, own in enumerate(labels):
        assert (np.diff(own) > 0).all()
        np.testing.assert_array_equal(scores[row], whole[row, own])  # to the last bit
        least = np.sort(rough[row])[-len(own)]
        assert set(np.flatnonzero(rough[row] > max(least, 0) + 1e-6)) <= set(own.tolist())
    assert labels[3].tolist() == list(range(8))
    assert index.candidates(rows, weights, LABELS)[0].tolist() == [list(range(LABELS))] * 25


def test_with_every_weight_and_label_it_is_the_dense_row(texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_table, "FREQUENT", 2)  # no dense row: then sums have the same order
    train, labels, unseen = texts
    monkeypatch.setattr(kept_weights, "LEAST", 10**9)
    options = RidgeOptions(model="label_ridge", min_documents=1)
    dense = PlantedScores.fit(train, labels, options)
    expected = dense.scores(unseen), dense.top(unseen, 10)
    monkeypatch.setattr(linear, "PRUNED_ABOVE", LABELS - 1)
    monkeypatch.setattr(label_ridge, "PRUNED_ABOVE", LABELS - 1)
    pruned = PlantedScores.fit(train, labels, options)
    assert pruned.linear.pruned
    np.testing.assert_array_equal(pruned.linear.weights.toarray(), dense.linear.weights.toarray())
    np.testing.assert_array_equal(pruned.scores(unseen), expected[0])
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(pruned.top(unseen, 10), name), getattr(expected[1], name))


def test_labels_outside_the_candidates_stay_behind_them(texts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_table, "FREQUENT", 2)  # no dense row: then sums have the same order
    train, labels, unseen = texts
    model = PlantedScores.fit(train, labels, RidgeOptions(model="label_ridge", min_documents=1))
    model = replace(model, adjustment=0.5)  # so much that a rare label would pass every other
    whole = model.scores(unseen)
    for module, name, value in ((linear, "PRUNED_ABOVE", 1), (linear, "LISTED", 3), (pruned_index, "KEPT", 4)):
        monkeypatch.setattr(module, name, value)
    features = model.linear.features(unseen)
    listed, _ = model.linear.index.candidates(features, model.linear.weights, 3)
    assert listed.shape[1] == 12
    top = model.top(unseen, 3)
    for row, scores in enumerate(model.scores(unseen)[:-1]):
        inside = np.zeros(LABELS, bool)
        inside[listed[row]] = True
        assert scores[~inside].max() <= scores[inside].min()
        assert (scores[inside] == whole[row, inside]).sum() >= 11  # the lowest stands for those outside
        own = slice(top.indptr[row], top.indptr[row + 1])
        np.testing.assert_array_equal(top.data[own], whole[row, top.indices[own]])
        assert min(top.data[own]) == np.sort(whole[row, listed[row]])[-3]
    assert np.isfinite(model.scores(unseen)).all()  # of the text without a known word too


def test_hard_negatives_of_the_index_are_the_same_where_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(2)
    features = sp.csr_array((random.random((90, 30)) * (random.random((90, 30)) < 0.2)).astype(np.float32))
    targets = sp.csr_array((random.random((90, LABELS)) < 0.1).astype(np.float32))
    options = RidgeOptions(model="label_ridge", top=20)
    expected = solve_by_label(features, targets, options).toarray()
    monkeypatch.setattr(label_ridge, "PRUNED_ABOVE", 1)
    np.testing.assert_array_equal(solve_by_label(features, targets, options).toarray(), expected)
    monkeypatch.setattr(label_ridge, "HARD", 4)
    assert np.abs(solve_by_label(features, targets, options).toarray() - expected).max() > 1e-3
