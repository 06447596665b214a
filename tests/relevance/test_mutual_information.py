from __future__ import annotations

import math
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.config.options import EvidenceOptions, RelevanceOptions
from plant_plugin.data.documents import Corpus, Split, load_corpus
from plant_plugin.data.tables import read_any
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.relevance import mutual_information as module
from plant_plugin.relevance.counts import mutual_information
from plant_plugin.relevance.mutual_information import Relevance, compute_relevance

SPECIAL = (0, 1)


def arrays_of(documents: list[list[int]]) -> TokenArrays:
    flat = [number for document in documents for number in document]
    offsets = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    return TokenArrays(np.array(flat, dtype=np.int32), offsets.astype(np.int64))


def literal(documents: list[list[int]], labels: np.ndarray, size: int, options: RelevanceOptions) -> np.ndarray:
    """Method §1 word for word: one 2x2 table for each pair, everything dense, then the ``top`` of each label."""
    total = len(documents)
    result = np.zeros((labels.shape[1], size))
    for label in range(labels.shape[1]):
        for token in range(size):
            if token in SPECIAL:
                continue
            if options.measure == "term_frequency":
                result[label, token] = sum(
                    document.count(token) for row, document in enumerate(documents) if labels[row, label]
                )
                continue
            table = np.zeros((2, 2))
            for row, document in enumerate(documents):
                table[int(labels[row, label]), int(token in document)] += 1
            if options.association == "positive" and table[1, 1] * total <= table[1].sum() * table[:, 1].sum():
                continue
            information = 0.0
            for x in (0, 1):
                for y in (0, 1):
                    if table[x, y]:
                        ratio = table[x, y] * total / (table[x].sum() * table[:, y].sum())
                        information += table[x, y] / total * math.log(ratio)
            result[label, token] = information
        if result[label].max() > 0 and options.unit == "share":
            result[label] /= result[label].max()
        order = sorted(range(size), key=lambda token: (-np.float32(result[label, token]), token))
        result[label, order[options.top :]] = 0
    return result


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[list[int]], np.ndarray, int]:
    size, labels = draw(st.integers(2, 9)), draw(st.integers(1, 5))
    documents = draw(st.lists(st.lists(st.integers(0, size - 1), max_size=8), min_size=1, max_size=12))
    flat = draw(st.lists(st.booleans(), min_size=len(documents) * labels, max_size=len(documents) * labels))
    return documents, np.array(flat).reshape(len(documents), labels), size


@settings(max_examples=200, deadline=None)
@given(
    corpora(), st.sampled_from(["positive", "any"]), st.sampled_from([1, 3, 4000]), st.sampled_from(["share", "nats"])
)
def test_equals_the_literal_formula(corpus, association: str, top: int, unit: str) -> None:
    documents, labels, size = corpus
    options = RelevanceOptions(association=association, top=top, unit=unit)
    found = compute_relevance(arrays_of(documents), sp.csr_array(labels.astype(np.float32)), size, SPECIAL, options)
    np.testing.assert_allclose(found.matrix.toarray(), literal(documents, labels, size, options), atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(corpora(), st.sampled_from([2, 4000]))
def test_term_frequency_equals_counting(corpus, top: int) -> None:
    documents, labels, size = corpus
    options = RelevanceOptions(measure="term_frequency", top=top)
    found = compute_relevance(arrays_of(documents), sp.csr_array(labels.astype(np.float32)), size, SPECIAL, options)
    np.testing.assert_allclose(found.matrix.toarray(), literal(documents, labels, size, options), atol=1e-6)


# Eight documents, four with the label, four with token 2, three with both: cells 3, 1, 1, 3 of 8.
DOCUMENTS = [[2, 3], [2], [2, 2], [3], [2], [3], [], [3]]
LABELS = sp.csr_array(np.array([[1], [1], [1], [1], [0], [0], [0], [0]], dtype=np.float32))


def test_by_hand() -> None:
    # ¾·ln(3/2) + ¼·ln(1/2) = 0.304099 − 0.173287 = 0.130812 nats
    assert mutual_information(3, 4, 4, 8) == pytest.approx(0.130812, abs=1e-6)
    found = compute_relevance(arrays_of(DOCUMENTS), LABELS, 4, SPECIAL, RelevanceOptions())
    # Token 3 is in two of four documents with the label and in two of four without: no information.
    np.testing.assert_array_equal(found.matrix.toarray(), [[0, 0, 1, 0]])
    assert found.matrix.dtype == np.float32
    frequency = RelevanceOptions(measure="term_frequency")
    found = compute_relevance(arrays_of(DOCUMENTS), LABELS, 4, SPECIAL, frequency)
    np.testing.assert_array_equal(found.matrix.toarray(), [[0, 0, 1, 0.5]])


def test_perfect_and_opposite_tokens() -> None:
    documents, labels = [[2], [2], [3], [3]], sp.csr_array(np.array([[1], [1], [0], [0]], dtype=np.float32))
    assert mutual_information(2, 2, 2, 4) == pytest.approx(math.log(2))
    positive = compute_relevance(arrays_of(documents), labels, 4, SPECIAL, RelevanceOptions())
    np.testing.assert_allclose(positive.matrix.toarray(), [[0, 0, 1, 0]])
    both = RelevanceOptions(association="any")
    np.testing.assert_allclose(
        compute_relevance(arrays_of(documents), labels, 4, SPECIAL, both).matrix.toarray(), [[0, 0, 1, 1]]
    )


def test_ties_go_to_the_lower_token() -> None:
    documents = [[5, 2, 4], [2, 4, 5], [3], [3]]
    labels = sp.csr_array(np.array([[1], [1], [0], [0]], dtype=np.float32))
    found = compute_relevance(arrays_of(documents), labels, 6, SPECIAL, RelevanceOptions(top=2))
    assert found.matrix.indices.tolist() == [2, 4]


def test_labels_of_no_or_every_document_are_empty() -> None:
    labels = np.zeros((8, 3), dtype=np.float32)
    labels[:, 1] = 1
    labels[:2, 2] = 1
    found = compute_relevance(arrays_of(DOCUMENTS), sp.csr_array(labels), 4, SPECIAL, RelevanceOptions())
    assert np.diff(found.matrix.indptr).tolist() == [0, 0, 1]


def test_a_label_written_twice_counts_once() -> None:
    rows, columns = [0, 1, 2, 3, 3], [0, 0, 0, 0, 0]
    twice = sp.csr_array(sp.coo_array((np.ones(5, dtype=np.float32), (rows, columns)), shape=(8, 1)))
    options = RelevanceOptions(association="any")
    found = compute_relevance(arrays_of(DOCUMENTS), twice, 4, SPECIAL, options).matrix
    expected = compute_relevance(arrays_of(DOCUMENTS), LABELS, 4, SPECIAL, options).matrix
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_no_labels_and_no_tokens() -> None:
    empty = compute_relevance(arrays_of([[2]]), sp.csr_array((1, 0), dtype=np.float32), 4, SPECIAL, RelevanceOptions())
    assert empty.matrix.shape == (0, 4)
    nothing = compute_relevance(arrays_of([[], [1, 0]]), LABELS[:2], 4, SPECIAL, RelevanceOptions())
    assert nothing.matrix.nnz == 0


def random_corpus() -> tuple[TokenArrays, sp.csr_array]:
    random = np.random.default_rng(0)
    documents = [(random.zipf(1.5, 40) % 300).tolist() for _ in range(200)]
    return arrays_of(documents), sp.csr_array((random.random((200, 60)) < 0.1).astype(np.float32))


@pytest.mark.parametrize(
    "options",
    [RelevanceOptions(top=20), RelevanceOptions(association="any"), RelevanceOptions(measure="term_frequency")],
)
def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, options: RelevanceOptions) -> None:
    arrays, labels = random_corpus()
    whole = compute_relevance(arrays, labels, 300, SPECIAL, options, workers=1).matrix
    monkeypatch.setattr(module, "BLOCK_CELLS", 500)
    blocks = compute_relevance(arrays, labels, 300, SPECIAL, options, workers=3).matrix
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(whole, part), getattr(blocks, part))


def test_document_order_changes_nothing() -> None:
    arrays, labels = random_corpus()
    order = np.random.default_rng(1).permutation(len(arrays))
    documents = [arrays.ids[arrays.offsets[row] : arrays.offsets[row + 1]].tolist() for row in order]
    first = compute_relevance(arrays, labels, 300, SPECIAL, RelevanceOptions()).matrix
    second = compute_relevance(arrays_of(documents), labels[order], 300, SPECIAL, RelevanceOptions()).matrix
    np.testing.assert_array_equal(first.toarray(), second.toarray())


def test_validation_and_test_data_have_no_influence(tmp_path: Path) -> None:
    train = "a\tcat dog cat\nb\tbird dog\na b\tcat bird\n\tfish\n"

    def relevance_with(val: str, test: str, **keys) -> np.ndarray:
        values = {
            "label_file": None, "val_size": 0.2, "merge_train_val": False, "remove_no_label_data": False,
            "include_test_labels": False, "allow_bad_lines": False, "text_column": "text", "labels_column": "labels",
            "label_separator": None, "encoding": None, "network_config": {},
            "cache_dir": None, "eval": False,
            "data_format": "txt", "evidence": EvidenceOptions(), **keys,
        }  # fmt: skip
        for name, content in (("training", train), ("val", val), ("test", test)):
            (tmp_path / name).write_text(content, encoding="utf-8")
            values[f"{name}_file"] = str(tmp_path / name)
        corpus = load_corpus(SimpleNamespace(**values))
        tokens = WordTokens.build(corpus.train.texts)
        arrays = tokens.encode(corpus.train.texts, 100)
        found = compute_relevance(
            arrays, corpus.label_matrix(corpus.train), tokens.size, tokens.special_ids, RelevanceOptions()
        )
        rows = [corpus.label_names.index(name) for name in ("a", "b")]
        assert found.matrix.nnz == found.matrix[rows].nnz  # labels of other splits have empty rows
        return found.matrix[rows].toarray()

    first = relevance_with("a\tcat\n", "b\tdog\n")
    assert first.any()
    for other in (
        relevance_with("b c\tcat cat fish new words\n", "b\tdog\n"),
        relevance_with("a\tcat\n", "a z\tbird\nz\tother\n", include_test_labels=True),
    ):
        np.testing.assert_array_equal(first, other)


def test_save_and_load(tmp_path: Path) -> None:
    arrays, labels = random_corpus()
    saved = compute_relevance(arrays, labels, 300, SPECIAL, RelevanceOptions())
    saved.save(tmp_path / "relevance.npz", labels="abc", vocabulary="def")
    loaded = Relevance.load(tmp_path / "relevance.npz", expect={"labels": "abc", "vocabulary": "def"})
    np.testing.assert_array_equal(loaded.matrix.toarray(), saved.matrix.toarray())
    assert loaded.matrix.dtype == np.float32
    assert loaded.hashes == {"labels": "abc", "vocabulary": "def"}


def test_made_for_something_else(tmp_path: Path) -> None:
    Relevance(sp.csr_array((2, 3), dtype=np.float32)).save(tmp_path / "relevance.npz", labels="abc")
    with pytest.raises(CheckpointError, match="made for labels abc, but labels here is xyz"):
        Relevance.load(tmp_path / "relevance.npz", expect={"labels": "xyz"})
    with pytest.raises(CheckpointError, match="vocabulary None"):
        Relevance.load(tmp_path / "relevance.npz", expect={"vocabulary": "v"})


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 torn", b"text"])
def test_torn_relevance_file(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "relevance.npz").write_bytes(content)
    with pytest.raises(CheckpointError, match="cannot be read"):
        Relevance.load(tmp_path / "relevance.npz")


def test_other_format_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Relevance(sp.csr_array((2, 3), dtype=np.float32)).save(tmp_path / "relevance.npz")
    monkeypatch.setattr(module, "FORMAT_VERSION", 2)
    with pytest.raises(CheckpointError, match="format 1, expected 2"):
        Relevance.load(tmp_path / "relevance.npz")


def test_disk_full_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args, **_content) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(PlantError, match="disk is full"):
        Relevance(sp.csr_array((2, 3), dtype=np.float32)).save(tmp_path / "relevance.npz")
    assert not list(tmp_path.iterdir())


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="8 documents but 2 rows"):
        compute_relevance(arrays_of(DOCUMENTS), LABELS[:2], 4, SPECIAL, RelevanceOptions())


@pytest.mark.integration
def test_eurlex6k_takes_seconds(shared: Path) -> None:
    documents = read_any(shared / "data" / "eurlex6k" / "train.txt.xz")
    tokens = WordTokens.build(documents.texts, 2)
    corpus = Corpus(Split(documents.texts, documents.labels, name="train"), None, None, [])
    corpus = corpus.with_labels(sorted({label for labels in documents.labels for label in labels}))
    arrays, labels = tokens.encode(documents.texts, 500), corpus.label_matrix(corpus.train)
    start = time.perf_counter()
    found = compute_relevance(arrays, labels, tokens.size, tokens.special_ids, RelevanceOptions())
    assert time.perf_counter() - start < 5
    assert found.matrix.shape == (2512, tokens.size)
    np.testing.assert_allclose(found.matrix.max(axis=1).toarray(), 1)
