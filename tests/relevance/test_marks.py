"""Phrases as marks of tokens: the right places, in documents and in padded batches."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import tiny_language_models
import torch
from tokenizers.processors import TemplateProcessing

from plant_plugin.data.batches import Batches, TokenMarks
from plant_plugin.data.subword_tokens import SubwordTokens
from plant_plugin.data.text import DocumentEvidence
from plant_plugin.data.tokens import Tokens
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.relevance.marks import LEAST, phrase_marks
from plant_plugin.relevance.phrases import HITS, SEEN, PlantedPhrases

NAMES = ["A", "B"]
TEXTS = [
    "Hoy 2 tomas: fiebre, muy alta y tos seca",  # a number is no token of WordTokens
    "fiebre sin foco", "tos", "control anual", "alta",
    "sin hallazgos 12",
]  # fmt: skip
LABELS = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], dtype=np.float32)
EVIDENCE: list[DocumentEvidence] = [
    {"A": [(13, 19), (25, 29)], "B": [(32, 40)]}, {"A": [(0, 6)], "unknown": [(7, 10)]}, {"B": [(0, 3)]}, {}, {}, {}
]  # fmt: skip
WORDS = WordTokens.build(TEXTS)


@pytest.fixture(scope="module")
def subwords(tmp_path_factory: pytest.TempPathFactory) -> SubwordTokens:
    """Sub-words with a special token at either end."""
    folder = tmp_path_factory.mktemp("tokenizer")
    letters = sorted(set("".join(TEXTS)) - {" "})
    pairs = " ".join(one + other for one in letters for other in letters)  # so that words become several
    (folder / "texts.txt").write_text(pairs, encoding="utf-8")
    tiny_language_models.write_tokenizer([folder / "texts.txt"], folder, padding=True)
    tokens = SubwordTokens(folder, local_only=True)
    tokens.tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokens


def marked_places(marks: TokenMarks, document: int, label: int) -> list[int]:
    rows = slice(marks.offsets[document], marks.offsets[document + 1])
    return np.flatnonzero(marks.matrix[rows].toarray()[:, label]).tolist()


def phrases() -> PlantedPhrases:
    return PlantedPhrases.fit(TEXTS, sp.csr_array(LABELS), EVIDENCE, NAMES)


def of_phrases(tokens: Tokens, max_length: int = 100) -> TokenMarks:
    arrays = tokens.encode(TEXTS, max_length)
    return phrase_marks(phrases(), TEXTS, arrays, partial(tokens.spans, max_length=max_length))


def test_phrases_mark_words() -> None:
    marks = of_phrases(WORDS)
    words = ["hoy", "tomas", "fiebre", "muy", "alta", "y", "tos", "seca"]
    assert [WORDS.token(number) for number in WORDS.encode(TEXTS, 100).ids[:8]] == words
    found = [[marked_places(marks, document, label) for label in (0, 1)] for document in range(len(TEXTS))]
    assert found == [[[2, 4], [6, 7]], [[0], []], [[], [0]], [[], []], [[], []], [[], []]]


def test_phrases_mark_subwords_but_no_special_token(subwords: SubwordTokens) -> None:
    marks, spans = of_phrases(subwords), subwords.spans(TEXTS[0], 100)
    assert spans[0] == spans[-1] == (0, 0)
    for label, places in ((0, [(13, 19), (25, 29)]), (1, [(32, 40)])):  # the last span ends where the text does
        inside = [
            token for token, (start, end) in enumerate(spans)
            if any(start < last and end > first for first, last in places) and start < end
        ]  # fmt: skip
        assert len(inside) > len(places)
        assert marked_places(marks, 0, label) == inside


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_what_is_not_read_is_not_marked(kind: str, subwords: SubwordTokens) -> None:
    tokens: Tokens = WORDS if kind == "words" else subwords
    whole, cut = of_phrases(tokens), of_phrases(tokens, 4)
    length = int(np.diff(cut.offsets)[0])
    assert length == 4
    for label in (0, 1):
        within = [place for place in marked_places(whole, 0, label) if place < length - (kind == "subwords")]
        assert marked_places(cut, 0, label) == within


def test_phrases_mark_their_words_with_p_times_the_strength() -> None:
    arrays = WORDS.encode(TEXTS, 100)
    places = partial(WORDS.spans, max_length=100)
    marks = phrase_marks(phrases(), TEXTS, arrays, places, strength=3.0)
    first = marks.matrix[: arrays.offsets[1]].toarray()
    one, two = (1 + HITS) / (1 + SEEN), (2 + HITS) / (2 + SEEN)  # documents with the phrase, all of them with the label
    assert (one, two) == pytest.approx((0.7333333, 0.84))
    # "fiebre" and "tos" are inside longer phrases, whose p is higher then: 0.85 of 0.84 is less than 0.733
    np.testing.assert_allclose(first[[2, 4], 0], [3 * one, 3 * one], rtol=1e-6)
    np.testing.assert_allclose(first[[6, 7], 1], [3 * one, 3 * one], rtol=1e-6)
    assert np.count_nonzero(first) == 4
    np.testing.assert_allclose(marks.matrix[[arrays.offsets[1]]].toarray(), [[3 * two, 0]], rtol=1e-6)
    assert marked_places(marks, 4, 0) == []  # "alta" alone is no phrase


def test_a_training_document_does_not_mark_itself() -> None:
    arrays, places = WORDS.encode(TEXTS, 100), partial(WORDS.spans, max_length=100)
    marks = phrase_marks(phrases(), TEXTS, arrays, places, left_out=range(len(TEXTS)))
    assert [marked_places(marks, 0, label) for label in (0, 1)] == [[2], [6]]
    first = marks.matrix[: arrays.offsets[1]].toarray()
    # the other document with the word has the label, and no longer phrase around it is left
    assert first[2, 0] == pytest.approx((1 + HITS) / (1 + SEEN))
    sentence = [TEXTS[0][13:]]  # a part of document 0 leaves document 0 out too
    of_part = phrase_marks(phrases(), sentence, WORDS.encode(sentence, 100), places, left_out=[0])
    np.testing.assert_array_equal(of_part.matrix.toarray(), first[2:])


@pytest.mark.parametrize(("documents", "marks"), [(10, 1), (12, 0)])
def test_weak_phrases_mark_nothing(documents: int, marks: int) -> None:
    """The more documents hold a phrase without the label, the less it says."""
    texts = [*TEXTS, *(f"tos {number}x" for number in range(documents)), *(f"{number}y" for number in range(24))]
    labels = np.zeros((len(texts), 2), dtype=np.float32)
    labels[: len(LABELS)] = LABELS
    evidence = [*EVIDENCE, *({} for _ in range(documents + 24))]
    weak = PlantedPhrases.fit(texts, sp.csr_array(labels), evidence, NAMES)
    (match, _) = weak.matches("tos")
    p = -np.expm1(-match.shares[0])
    assert p == pytest.approx((2 + HITS) / (documents + 2 + SEEN))
    assert (p > LEAST) == marks
    found = phrase_marks(weak, ["tos"], WORDS.encode(["tos"], 9), partial(WORDS.spans, max_length=9))
    assert found.matrix.nnz == marks


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_hand_marks_out_at_their_padded_places(shuffle: bool) -> None:
    texts = [*TEXTS[:3], "", *TEXTS[3:]]  # a document without tokens
    arrays = WORDS.encode(texts, 100)
    marks = phrase_marks(phrases(), texts, arrays, partial(WORDS.spans, max_length=100))
    marks.matrix.data[:] = np.arange(1, marks.matrix.nnz + 1)  # told apart
    labels = sp.csr_array((len(texts), 2), dtype=np.float32)
    dense, seen = marks.matrix.toarray(), []
    batches = Batches(arrays, labels, 2, WORDS.pad_id, shuffle, 3, marks=marks)
    for batch in batches:
        width = batch["text"].shape[1]
        found = np.zeros((len(batch["document"]) * width, 2), dtype=np.float32)
        place, label, value = (batch[f"mark_{part}"] for part in ("place", "label", "value"))
        assert (place.dtype, label.dtype, value.dtype) == (torch.int64, torch.int64, torch.float32)
        assert place.tolist() == sorted(place.tolist())
        found[place, label] = value
        for row, document in enumerate(batch["document"].tolist()):
            own = dense[arrays.offsets[document] : arrays.offsets[document + 1]]
            expected = np.zeros((width, 2), dtype=np.float32)
            expected[: len(own)] = own
            np.testing.assert_array_equal(found[row * width : (row + 1) * width], expected)
            seen.append(document)
    assert sorted(seen) == list(range(len(texts)))
    assert any(not len(batch["mark_place"]) for batch in batches)


def test_documents_without_a_token() -> None:
    arrays = WORDS.encode([""], 100)
    marks = phrase_marks(phrases(), [""], arrays, partial(WORDS.spans, max_length=100))
    assert marks.matrix.shape == (0, 2)
    (batch,) = Batches(arrays, sp.csr_array((1, 2), dtype=np.float32), 1, WORDS.pad_id, False, 0, marks=marks)
    assert batch["mark_place"].tolist() == []
