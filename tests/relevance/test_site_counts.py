"""Counts of sites that share no documents: their sum is what counting together gives, and what they do not tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.tokens import WordTokens
from plant_plugin.errors import DataError
from plant_plugin.relevance import compute_relevance
from plant_plugin.relevance.mutual_information import write_arrays
from plant_plugin.relevance.site_counts import SiteCounts, merged

LABELS = ["a", "b", "é", "d"]


def texts_and_labels(seed: int, documents: int = 40) -> tuple[list[str], np.ndarray]:
    random = np.random.default_rng(seed)
    texts = [" ".join(f"word{int(12 * random.random() ** 2)}" for _ in range(6)) for _ in range(documents)]
    return texts, random.random((documents, len(LABELS))) < 0.3


def site(texts: list[str], truth: np.ndarray, order: list[int], min_count: int = 1) -> SiteCounts:
    """Counted with a vocabulary of the site's own and the labels in an order of its own."""
    tokens = WordTokens.build(texts, 1)
    labels = sp.csr_array(truth[:, order].astype(np.float32))
    return SiteCounts.of(tokens.encode(texts, 100), labels, [LABELS[label] for label in order], tokens, min_count)


def same(left: sp.csr_array, right: sp.csr_array) -> bool:
    parts = zip((left.indptr, left.indices, left.data), (right.indptr, right.indices, right.data), strict=True)
    return left.shape == right.shape and all(np.array_equal(one, other) for one, other in parts)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    cut=st.integers(1, 39),
    order=st.permutations(range(4)),
    association=st.sampled_from(["positive", "any"]),
)
def test_equal_to_counting_together(seed: int, cut: int, order: list[int], association: str) -> None:
    texts, truth = texts_and_labels(seed)
    parts = [site(texts[:cut], truth[:cut], order), site(texts[cut:], truth[cut:], [0, 1, 2, 3])]
    both = merged([(Path(f"{number}.npz"), part) for number, part in enumerate(parts)])
    tokens = WordTokens.build(texts, 1)
    options = RelevanceOptions(top=5, association=association)
    labels = sp.csr_array(truth.astype(np.float32))
    expected = compute_relevance(tokens.encode(texts, 100), labels, tokens.size, tokens.special_ids, options).matrix
    assert expected.nnz
    assert same(both.relevance(LABELS, tokens, options).matrix, expected)
    together = merged([(Path("all.npz"), site(texts, truth, [0, 1, 2, 3]))])
    assert (both.documents, both.labels, both.types) == (40, together.labels, together.types)
    assert same(both.pairs, together.pairs)


def test_what_few_documents_have_does_not_leave(tmp_path: Path) -> None:
    """``common`` and a stand in 4 documents, together in 3; ``smith`` and b in 1; ``other`` in 3, with a in 1."""
    texts = ["common smith", "common other", "common", "common other", "other"]
    truth = np.array([[1, 1], [1, 0], [1, 0], [0, 0], [1, 0]])
    truth[4, 0], truth[3, 0] = 0, 0
    tokens = WordTokens.build(texts, 1)
    labels = sp.csr_array(truth.astype(np.float32))
    found = SiteCounts.of(tokens.encode(texts, 9), labels, ["a", "rare7"], tokens, 3)
    assert (list(found.labels), sorted(found.types)) == (["a"], ["common", "other"])
    assert found.pairs.toarray().sum() == 3  # a and common; not a and other, in 1
    found.save(tmp_path / "counts.npz")
    content = (tmp_path / "counts.npz").read_bytes()  # not compressed
    assert b"common" in content
    assert b"smith" not in content
    assert b"rare7" not in content


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    written = site(*texts_and_labels(3), [3, 1, 0, 2], 2)
    written.save(tmp_path / "counts.npz")
    found = SiteCounts.load(tmp_path / "counts.npz")
    assert same(found.pairs, written.pairs)
    assert (list(found.labels), list(found.types)) == (list(written.labels), list(written.types))
    assert (found.cut, found.min_count, found.documents) == ("WordTokens", 2, 40)
    np.testing.assert_array_equal(found.label_documents, written.label_documents)
    np.testing.assert_array_equal(found.type_documents, written.type_documents)


def packed(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("data", lambda array: array + 40, "data holds a pair"),
        ("data", lambda array: array * 0, "data holds a pair"),
        ("documents", lambda array: array * 0 + 1, "label_documents holds a value above 1"),
        ("labels", lambda array: packed('["a", "a", "b", "c"]'), "labels is no list of different names"),
        ("types", lambda array: array[:-1], "types is no list of different names"),
        ("counts_version", lambda array: array + 1, "counts_version is 2, expected 1"),
        ("indices", lambda array: array + 1000, "indices holds a value above"),
    ],
)
def test_a_file_that_holds_no_counts(
    tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    path = tmp_path / "counts.npz"
    site(*texts_and_labels(3), [0, 1, 2, 3]).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    write_arrays(path, {**arrays, name: change(arrays[name])})
    with pytest.raises(DataError, match=message) as caught:
        SiteCounts.load(path)
    assert caught.value.fix
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="torn"):
        SiteCounts.load(path)


def test_words_and_sub_words_are_not_added() -> None:
    found = site(*texts_and_labels(3), [0, 1, 2, 3])
    other = SiteCounts(**{**vars(found), "cut": "SubwordTokens"})
    with pytest.raises(DataError, match=r"two.npz: counts SubwordTokens, one.npz counts WordTokens"):
        merged([(Path("one.npz"), found), (Path("two.npz"), other)])
