from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge

from plant_plugin.errors import CheckpointError, ConfigError, DataError
from plant_plugin.relevance import planted_scores, ridge
from plant_plugin.relevance.counts import TILE, product_turned
from plant_plugin.relevance.planted_scores import ARRAYS, TERMS, PlantedScores, label_rarity
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.relevance.terms import TermRows, Terms

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6)


@pytest.fixture(scope="module")
def task() -> tuple[list[str], sp.csr_array, list[str]]:
    """60 made-up documents of 25 words, 5 labels, 10 unseen documents."""
    random = np.random.default_rng(0)
    texts = [" ".join(f"word{word}" for word in random.integers(25, size=12)) for _ in range(70)]
    labels = sp.csr_array((random.random((60, 5)) < 0.3).astype(np.float32))
    return texts[:60], labels, texts[60:]


def test_equals_scikit_learns_kernel_ridge(task) -> None:
    texts, labels, unseen = task
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    features = vectorizer.fit_transform(texts)
    expected = KernelRidge(alpha=0.5).fit(features, labels.toarray()).predict(vectorizer.transform(unseen))
    found = PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert found.std() > 0.01


def test_blocks_of_documents_columns_and_labels_change_nothing(task, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, unseen = task
    whole = PlantedScores.fit(texts, labels, EVERYTHING)
    for name, size in (("ROWS", 7), ("COLUMNS", 4), ("LABELS", 2), ("FREQUENT", 0.3)):
        monkeypatch.setattr(ridge, name, size)
    np.testing.assert_allclose(
        PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen), whole.scores(unseen), atol=1e-5
    )


def test_the_compiled_product_is_scipys_turned() -> None:
    random = np.random.default_rng(5)
    table = random.random((2 * TILE + 3, 40), dtype=np.float32) * (random.random((2 * TILE + 3, 40)) < 0.2)
    table[[0, TILE]] = 0  # terms of no document
    sparse = sp.csr_array(table)
    dense = random.random((40, 7), dtype=np.float32)
    out = np.full((7, sparse.shape[0] + 4), np.nan, np.float32)
    product_turned(sparse.indptr, sparse.indices, sparse.data, dense, out[:, 4:])
    np.testing.assert_array_equal(out[:, 4:], (sparse @ dense).T)  # to the last bit
    assert np.isnan(out[:, :4]).all()


def test_by_hand() -> None:
    """Two documents of one term each: X·Xᵀ = I, so α = y/(1+λ) and each weight is 1/(1+λ)."""
    options = RidgeOptions(model="ridge", penalty=0.25, min_documents=1)
    model = PlantedScores.fit(["alpha", "beta"], sp.csr_array(np.eye(2, dtype=np.float32)), options)
    np.testing.assert_allclose(model.scores(["beta", "alpha", "gamma"]), [[0, 0.8], [0.8, 0], [0, 0]], atol=1e-6)


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
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found - PlantedScores.fit(texts, labels, EVERYTHING).scores(unseen)).max() > 0.01
    ((terms, rest),) = model.terms(unseen[0], [2], model.matches(unseen[0]))
    assert sum(value for _, value in terms) + rest == pytest.approx(found[0, 2], abs=1e-5)
    model.save(tmp_path, "hash")
    np.testing.assert_allclose(PlantedScores.load(tmp_path, "hash").scores(unseen), found, atol=1e-6)


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
    np.testing.assert_allclose(found, expected, atol=1e-5)
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
    np.testing.assert_allclose(model.scores(["beta", "alpha"]), [[0, 0.8, half], [0.8 + 1, 0, half]], atol=1e-6)
    assert dict(next(model.terms("alpha", [2], []))[0]) == pytest.approx({"alpha": half})
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


def test_weights_take_eight_bytes_each(task) -> None:
    texts, labels, _ = task
    model = PlantedScores.fit(texts, labels, EVERYTHING)
    model = model.with_names(["word1 word2"] * 5, np.arange(5))
    model = model.with_name_weight(2.0)
    for weights in (model.linear.weights, model.linear._by_term):
        assert {weights.data.dtype, weights.indices.dtype} == {np.dtype("float32"), np.dtype("int32")}


def test_documents_that_cannot_be_solved_at_once_are_refused(task, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels, _ = task
    monkeypatch.setattr(ridge, "MOST_EXACT", 59)
    with pytest.raises(ConfigError, match=r"(?s)planted_scores\.model: 60 documents at once are more .*label_ridge"):
        PlantedScores.fit(texts, labels, EVERYTHING)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=4 * 40**2))
    with pytest.raises(ConfigError, match=r"(?s)planted_scores\.model: 60 documents at once need .*label_ridge"):
        PlantedScores.fit(texts, labels, EVERYTHING)
    PlantedScores.fit(texts, labels, dataclasses.replace(EVERYTHING, model="label_ridge"))


def test_a_penalty_that_tells_equal_documents_apart_in_64_bits_alone_is_refused() -> None:
    labels = sp.csr_array(np.eye(4, dtype=np.float32))
    with pytest.raises(ConfigError, match="1e-12 is too little for 32 bits"):
        PlantedScores.fit(["one two"] * 4, labels, RidgeOptions(model="ridge", penalty=1e-12, min_documents=1))


def test_keeps_the_largest_weights_of_each_label(task) -> None:
    texts, labels, _ = task
    whole = PlantedScores.fit(texts, labels, EVERYTHING).linear.weights.toarray()
    pruned = PlantedScores.fit(texts, labels, RidgeOptions(penalty=0.5, top=3)).linear.weights.toarray()
    for full, kept in zip(whole, pruned, strict=True):
        chosen = np.argsort(-np.abs(full))[:3]
        assert set(np.flatnonzero(kept)) == set(chosen)
        np.testing.assert_allclose(kept[chosen], full[chosen], atol=1e-6)


def test_a_label_without_documents_scores_zero(task) -> None:
    texts, labels, unseen = task
    none = sp.csr_array(np.hstack([labels.toarray(), np.zeros((60, 1), dtype=np.float32)]))
    scores = PlantedScores.fit(texts, none, EVERYTHING).scores(unseen)
    assert (scores[:, 5] == 0).all()
    assert (scores[:, :5] != 0).any()


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
    with pytest.raises(ValueError, match="k is 0"):
        model.top(["word1"], 0)


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


def test_no_term_is_frequent_enough(task) -> None:
    with pytest.raises(DataError, match="no word is in 2 training documents"):
        PlantedScores.fit(["alpha", "beta"], sp.csr_array(np.eye(2, dtype=np.float32)), RidgeOptions())


def test_texts_and_labels_of_different_length(task) -> None:
    texts, labels, _ = task
    with pytest.raises(ValueError, match="59 documents but 60 rows"):
        PlantedScores.fit(texts[:59], labels, EVERYTHING)


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"


@pytest.mark.parametrize("kind", [Terms(1, 2), Terms(2, 3), Terms(3, 5, letters=True)])
@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.text(st.sampled_from(HARD), min_size=4, max_size=30), min_size=2, max_size=6))
def test_rows_of_terms_are_those_of_scikit_learn_bit_for_bit(kind: Terms, texts: list[str]) -> None:
    texts = ["aa bb aa", "bb aa cc éé", *texts]
    counted = TfidfVectorizer(
        analyzer="char_wb" if kind.letters else "word", strip_accents="unicode" if kind.letters else None,
        ngram_range=kind[:2], sublinear_tf=True, dtype=np.float32,
    )  # fmt: skip
    counted.fit(texts[:-1])
    texts += ["", "zz"]
    expected, found = counted.transform(texts), TermRows(kind, counted.vocabulary_, counted.idf_).transform(texts)
    for name in ("data", "indices", "indptr"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
