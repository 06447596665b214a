from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge

from plant_plugin.errors import DataError
from plant_plugin.relevance import linear
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge

HALF = 0.0005  # what weights of 16 bits may differ by

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6)


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"


@pytest.mark.usefixtures("all_bits")
def test_by_hand() -> None:
    """Two documents of one term each: X·Xᵀ = I, so α = y/(1+λ) and each weight is 1/(1+λ)."""
    options = RidgeOptions(model="ridge", penalty=0.25, min_documents=1)
    model = PlantedScores.fit(["alpha", "beta"], sp.csr_array(np.eye(2, dtype=np.float32)), options)
    np.testing.assert_allclose(model.scores(["beta", "alpha", "gamma"]), [[0, 0.8], [0.8, 0], [0, 0]], atol=HALF)


def test_weights_lose_less_than_two_in_a_hundred_and_their_last_bits(task) -> None:
    texts, labels, _ = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    solved = solve_ridge(model.linear.features(texts), labels.tocsr(), EVERYTHING)
    kept = model.linear.weights
    np.testing.assert_allclose(kept.toarray(), solved.toarray(), rtol=1 / 63)
    assert not (kept.data.astype(np.float16).view(np.uint16) & 31).any()


def test_weights_of_a_file_of_before_stay(task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, unseen = task
    with monkeypatch.context() as before:
        before.setattr(linear, "LAST", 0)
        model = PlantedScores.fit(texts, labels, EVERYTHING)
    model.save(tmp_path, "hash")
    np.testing.assert_array_equal(PlantedScores.load(tmp_path, "hash").scores(unseen), model.scores(unseen))


@pytest.mark.usefixtures("all_bits")
def test_words_of_the_beginning_count_more(task, tmp_path: Path) -> None:
    texts, labels, unseen = task
    options = dataclasses.replace(EVERYTHING, lead=4, lead_weight=0.7)
    model = PlantedScores.fit(texts, labels, options)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit(texts)

    def literal(documents: list[str]) -> np.ndarray:
        beginnings = [" ".join(document.split(" ")[:4]) for document in documents]
        rows = (vectorizer.transform(documents) + 0.7 * vectorizer.transform(beginnings)).toarray()
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    found = model.scores(unseen)
    expected = KernelRidge(alpha=0.5).fit(literal(texts), labels.toarray()).predict(literal(unseen))
    np.testing.assert_allclose(found, expected, atol=HALF)
    assert np.abs(found - PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen)).max() > 0.01
    ((terms, rest),) = model.terms(unseen[0], [2], model.matches(unseen[0]))
    assert sum(value for _, value in terms) + rest == pytest.approx(found[0, 2], abs=1e-5)
    model.save(tmp_path, "hash")
    np.testing.assert_allclose(PlantedScores.load(tmp_path, "hash").scores(unseen), found, atol=1e-6)


@pytest.mark.usefixtures("all_bits")
def test_endings_of_words_may_matter_less(tmp_path: Path) -> None:
    texts = ["nursing nurses in 2019", "a nurse reads", "reading readers", "20191 reader of books", "booking books"]
    labels = sp.csr_array(np.eye(5, dtype=np.float32)[:, [0, 1, 1, 2, 3]])
    options = RidgeOptions(model="ridge", penalty=0.5, min_documents=1, word_letters=4)
    model = PlantedScores.fit(texts, labels, options)
    assert {"nursing", "nurs…", "nurs… nurs…", "in… 2019…", "20191…"} <= set(model.linear.terms)  # numbers are whole

    def both(text: str) -> list[str]:
        whole = [word for word in text.split() if len(word) > 1]
        cut = [(word if word.isdigit() else word[:4]) + "x" for word in whole]
        return [term for words in (whole, cut) for term in (*words, *map(" ".join, itertools.pairwise(words)))]

    vectorizer = TfidfVectorizer(analyzer=both, sublinear_tf=True).fit(texts)
    unseen = ["Nursed by a bookish READER", "2019"]
    rows = vectorizer.transform(texts).toarray()
    ridge = KernelRidge(alpha=0.5).fit(rows, labels.toarray())
    expected = ridge.predict(vectorizer.transform([text.lower() for text in unseen]).toarray())
    found = model.scores(unseen)
    np.testing.assert_allclose(found, expected, atol=HALF)
    assert found[0, 0] > 0.1  # by its first letters alone
    ((terms, rest),) = model.terms(unseen[0], [1], model.matches(unseen[0]))
    assert sum(value for _, value in terms) + rest == pytest.approx(found[0, 1], abs=1e-5)
    model.save(tmp_path, "hash")
    np.testing.assert_allclose(PlantedScores.load(tmp_path, "hash").scores(unseen), found, atol=1e-6)


@pytest.mark.parametrize("lead", [{"lead": 0, "lead_weight": 0.5}, {"lead": 4, "lead_weight": 0.0}, {"lead": 12}])
def test_no_beginning_or_nothing_after_it_changes_nothing(task, lead: dict[str, float]) -> None:
    texts, labels, unseen = task  # documents of 12 words
    model = PlantedScores.fit(texts, labels, dataclasses.replace(EVERYTHING, **lead))
    plain = PlantedScores.fit(texts, labels, EVERYTHING)
    np.testing.assert_allclose(model.scores(unseen), plain.scores(unseen), atol=1e-5)


def test_weights_take_eight_bytes_each(task) -> None:
    texts, labels, _ = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    model = model.with_names(["word1 word2"] * 5, np.arange(5))
    model = model.with_name_weight(2.0)
    for weights in (model.linear.weights, model.linear._by_term.of_others):
        assert {weights.data.dtype, weights.indices.dtype} == {np.dtype("float32"), np.dtype("int32")}


def test_a_label_without_documents_scores_zero(task) -> None:
    texts, labels, unseen = task
    none = sp.csr_array(np.hstack([labels.toarray(), np.zeros((60, 1), dtype=np.float32)]))
    scores = PlantedScores.fit(texts, none, EVERYTHING).scores(unseen)
    assert (scores[:, 5] == 0).all()
    assert (scores[:, :5] != 0).any()


def test_no_term_is_frequent_enough(task) -> None:
    with pytest.raises(DataError, match="no word is in as many training documents as 2"):
        PlantedScores.fit(["alpha", "beta"], sp.csr_array(np.eye(2, dtype=np.float32)), RidgeOptions())
