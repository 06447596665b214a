from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import CheckpointError
from plant_plugin.relevance import planted_scores
from plant_plugin.relevance.planted_scores import ARRAYS, TERMS, PlantedScores, label_rarity
from plant_plugin.relevance.ridge import RidgeOptions

HALF = 0.0005  # what weights of 16 bits may differ by

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6)


@pytest.mark.usefixtures("all_bits")
def test_names_by_hand_and_after_saving(tmp_path: Path) -> None:
    """Idf is equal for both terms: a name of one known word is a row of 1 at it, divided by √(1 + n); half if n = 0."""
    options = RidgeOptions(model="ridge", penalty=0.25, min_documents=1)
    labels = sp.csr_array(np.array([[1, 0, 0], [0, 1, 0]], dtype=np.float32))
    model = PlantedScores.fit(["alpha", "beta"], labels, options)
    model = model.with_names(["", "unknown", "beta"], np.array([1, 1, 0]))
    np.testing.assert_allclose(
        model.name_scores_of(model.linear.features(["beta", "alpha"])), [[0, 0, 0.5], [0, 0, 0]], atol=1e-6
    )
    model = model.with_names(["alpha", "", "alpha beta"], np.array([3, 1, 0]))
    model = model.with_name_weight(2.0)
    half = 2 * 0.5 / np.sqrt(2)
    np.testing.assert_allclose(model.scores(["beta", "alpha"]), [[0, 0.8, half], [0.8 + 1, 0, half]], atol=HALF)
    assert dict(next(model.terms("alpha", [2], []))[0]) == pytest.approx({"alpha": half}, abs=HALF)
    model.save(tmp_path, "hash")
    loaded = PlantedScores.load(tmp_path, "hash")
    assert loaded.name_weight == 2
    np.testing.assert_array_equal(loaded.scores(["beta", "alpha"]), model.scores(["beta", "alpha"]))
    np.testing.assert_array_equal(loaded.name_scores_of(loaded.linear.features(["beta"])), [[0, 0, 0]])


def test_terms_sum_to_the_score(task) -> None:
    texts, labels, unseen = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    model = dataclasses.replace(model, adjustment=0.3, weight=2.0)
    for label, score in enumerate(model.scores(unseen[:1])[0]):
        ((terms, rest),) = model.terms(unseen[0], [label], model.matches(unseen[0]))
        assert sum(value for _, value in terms) + rest == pytest.approx(score, abs=1e-5)
        assert all(term in unseen[0] for term, _ in terms)
        assert [abs(value) for _, value in terms] == sorted((abs(value) for _, value in terms), reverse=True)


def test_rarity_by_hand() -> None:
    """Counts 4, 1, 0: the mean of log n over the five occurrences is 4/5·log 4."""
    expected = [-0.2 * np.log(4), 0.8 * np.log(4), 0]
    np.testing.assert_allclose(label_rarity(np.array([4, 1, 0])), expected, atol=1e-6)
    np.testing.assert_allclose(label_rarity(np.array([0, 0])), [0, 0])


def test_an_adjustment_adds_to_the_scores_of_rare_labels(task) -> None:
    texts, labels, unseen = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    before = model.scores(unseen)
    model = dataclasses.replace(model, adjustment=0.5)
    rarity = label_rarity(labels.sum(axis=0))
    np.testing.assert_allclose(model.scores(unseen) - before, np.tile(0.5 * rarity, (10, 1)), atol=1e-6)
    assert rarity.argmax() == labels.sum(axis=0).argmin()


@pytest.mark.parametrize("cells", [planted_scores.CELLS, 12, 1])
@pytest.mark.parametrize("k", [1, 3, 5, 9])
def test_the_highest_labels_of_each_text(task, k: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, unseen = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    model = dataclasses.replace(model, adjustment=0.1, linear_weight=0.5)
    monkeypatch.setattr(planted_scores, "CELLS", cells)
    dense, found = model.scores(unseen), model.top(unseen, k)
    assert found.indices.dtype == np.int32
    assert found.shape == dense.shape
    for row, scores in zip(found, dense, strict=True):
        np.testing.assert_array_equal(row.indices, np.sort(np.argsort(-scores, kind="stable")[:k]))
        np.testing.assert_allclose(row.data, scores[row.indices], atol=1e-6)


def test_of_equally_high_labels_the_first_are_taken(task) -> None:
    texts, labels, _ = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    found = model.top(["nothing of this was seen", "word1 word2"], 2)
    assert found[[0]].indices.tolist() == [0, 1]
    assert found[[0]].data.tolist() == [0, 0]
    assert model.top([], 2).shape == (0, 5)


def test_saved_and_loaded(task, tmp_path: Path) -> None:
    texts, labels, unseen = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    model = dataclasses.replace(model, weight=3.5)
    model.save(tmp_path, "abc")
    again = PlantedScores.load(tmp_path, "abc")
    assert again.weight == 3.5
    np.testing.assert_allclose(again.scores(unseen), model.scores(unseen), atol=1e-6)


def test_refuses_other_labels_and_torn_files(task, tmp_path: Path) -> None:
    texts, labels, _ = task
    PlantedScores.fit(texts, labels, EVERYTHING).save(tmp_path, "abc")
    with pytest.raises(CheckpointError, match="made for labels abc"):
        PlantedScores.load(tmp_path, "xyz")
    terms = json.loads((tmp_path / TERMS).read_text())
    (tmp_path / TERMS).write_text(json.dumps(terms[1:]))
    with pytest.raises(CheckpointError, match=r"planted_scores\.npz: not planted scores: shape is .* terms"):
        PlantedScores.load(tmp_path, "abc")
    (tmp_path / ARRAYS).write_bytes((tmp_path / ARRAYS).read_bytes()[:200])
    with pytest.raises(CheckpointError, match="cannot be read"):
        PlantedScores.load(tmp_path, "abc")


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"
