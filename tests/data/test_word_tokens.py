from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.data.word_tokens import WordTokens, documents_with_words, embedding_matrix
from plant_plugin.data.words import words_of
from plant_plugin.errors import DataError

TEXTS = ["The cat_1, the CAT; 42 cats İç", "a dog\u00b2 ½ 7up a", "zebra", ""]
HARD = "aZ9_ -éßſ²½\u0301\u0903五İ\u200d、𝟘𐐷\ud800\x00"


def test_word_rule() -> None:
    assert words_of(TEXTS[0]) == ["the", "cat_1", "the", "cat", "cats", "i̇ç"]
    assert words_of("42 ½ 五 7up x_2-3 Γ") == ["7up", "x_2", "γ"]


@settings(deadline=None)  # the first call imports
@given(texts=st.lists(st.text(st.sampled_from(HARD), max_size=12), max_size=6), most=st.integers(0, 4))
def test_words_are_those_of_nltk(texts: list[str], most: int) -> None:
    from nltk.tokenize import RegexpTokenizer

    split = RegexpTokenizer(r"\w+").tokenize
    words = [[word.lower() for word in split(text) if not word.isnumeric()] for text in texts]
    assert [words_of(text) for text in texts] == words
    tokens = WordTokens.build(texts)
    assert sorted(tokens.words[2:]) == sorted({word for row in words for word in row})
    arrays = tokens.encode(texts, most)
    assert arrays.ids.tolist() == [tokens.id_of[word] for row in words for word in row[:most]]
    assert arrays.lengths.tolist() == [len(row[:most]) for row in words]
    for text, row in zip(texts, words, strict=True):
        assert [text[start:end].lower() for start, end in tokens.spans(text, most)] == row[:most]


def test_every_character_is_part_of_a_word_where_nltk_says_so() -> None:
    from nltk.tokenize import RegexpTokenizer

    split = RegexpTokenizer(r"\w+").tokenize
    for code in {*range(0x600), *range(0, 0x110000, 97)}:
        assert words_of(chr(code)) == [word.lower() for word in split(chr(code)) if not word.isnumeric()]


def test_a_word_counts_once_a_document_whatever_its_case() -> None:
    assert documents_with_words(["The the dog", "", "the THE", "Dog"]) == {"the": 2, "dog": 2}
    assert documents_with_words(["", "7"]) == documents_with_words([]) == {}


def test_vocabulary_order_and_document_frequency() -> None:
    tokens = WordTokens.build(["b b b a", "a c", "c b", "a"])
    assert tokens.words == ["<pad>", "<unk>", "a", "b", "c"]  # a in 3 documents, b and c in 2
    assert WordTokens.build(["b b b a", "a c", "c b", "a"], 3).words == ["<pad>", "<unk>", "a"]
    assert tokens.size == 5
    assert tokens.token(2) == "a"


def test_encode_cuts_and_counts() -> None:
    tokens = WordTokens(["<pad>", "<unk>", "cat", "the"])
    arrays = tokens.encode(["The 42 cat the bird", "unknown only", "", "cat"], max_length=3)
    np.testing.assert_array_equal(arrays.ids, [3, 2, 3, 1, 1, 2])
    np.testing.assert_array_equal(arrays.offsets, [0, 3, 5, 5, 6])
    np.testing.assert_array_equal(arrays.lengths, [3, 2, 0, 1])
    assert arrays.ids.dtype == np.int32
    assert (arrays.unknown_only, arrays.truncated) == (2, 1)
    assert len(tokens.encode([], 5)) == 0
    assert tokens.encode(["the 42 cat 43 the"], max_length=3).truncated == 0  # numbers are no words


def test_vocabulary_file(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("zebra\n apple \n\n<pad>\n<unk>\ndog\nzebra\n", encoding="utf-8")
    assert WordTokens.from_file(tmp_path / "words").words == ["<pad>", "<unk>", "zebra", "apple", "dog"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "words: no such file"),
        (b"\n", "the vocabulary file holds no word"),
        (b"caf\xe9", "line 1: not valid UTF-8"),
    ],
)
def test_vocabulary_file_unusable(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "words").write_bytes(content)
    with pytest.raises(DataError, match=message):
        WordTokens.from_file(tmp_path / "words")


@pytest.mark.integration
def test_same_words_and_ids_as_libmultilabel(tmp_path: Path) -> None:
    from libmultilabel.nn.data_utils import load_or_build_text_dict, tokenize

    (tmp_path / "vectors").write_text("cat 1 2\n", encoding="utf-8")
    (tmp_path / "words").write_text("zebra\ncat\ndog\nthe\n", encoding="utf-8")
    assert [words_of(text) for text in TEXTS] == [tokenize(text) for text in TEXTS]
    dataset = [{"text": tokenize(text)} for text in TEXTS * 2 + ["zebra dog the"]]
    ours = WordTokens.build(TEXTS * 2 + ["zebra dog the"], 2)
    theirs, _ = load_or_build_text_dict(dataset, min_vocab_freq=2, embed_file=str(tmp_path / "vectors"))
    assert ours.id_of == theirs
    arrays = ours.encode(TEXTS, 500)
    assert arrays.ids.tolist() == [theirs.get(word, 1) for text in TEXTS for word in tokenize(text)]
    theirs, _ = load_or_build_text_dict(dataset, str(tmp_path / "words"), embed_file=str(tmp_path / "vectors"))
    assert WordTokens.from_file(tmp_path / "words").id_of == theirs


def vectors(tokens: WordTokens, path: Path | None, *, normalize: bool = False, dim: int | None = None) -> torch.Tensor:
    return embedding_matrix(tokens, path, normalize=normalize, seed=1, dim=dim)


@pytest.mark.parametrize("header", ["", "2 2\n"])
def test_embedding_file(tmp_path: Path, header: str) -> None:
    (tmp_path / "v").write_text(f"{header}cat 3 4\nother 1 1\n", encoding="utf-8")
    tokens = WordTokens(["<pad>", "<unk>", "dog", "cat"])
    weights = vectors(tokens, tmp_path / "v")
    assert weights.dtype == torch.float32
    np.testing.assert_array_equal(weights[[0, 2, 3]], [[0, 0], [0, 0], [3, 4]])
    assert weights[1].abs().sum() > 0
    torch.testing.assert_close(weights, vectors(tokens, tmp_path / "v"))
    normal = vectors(tokens, tmp_path / "v", normalize=True)
    np.testing.assert_allclose(normal[3], [0.6, 0.8], atol=1e-6)
    np.testing.assert_array_equal(normal[0], [0, 0])


def test_embedding_at_random() -> None:
    weights = vectors(WordTokens(["<pad>", "<unk>", "dog"]), None, dim=7)
    assert weights.shape == (3, 7)
    assert weights[0].abs().sum() == 0
    assert weights[2].abs().sum() > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [("cat 1 2\ndog 1\n", "line 2: 1 values"), ("cat 1 x\n", "line 1: a value"), ("", "no vectors"), ("cat\n", "no v")],
)
def test_embedding_file_malformed(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "v").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        vectors(WordTokens(["<pad>", "<unk>", "dog", "cat"]), tmp_path / "v")


@pytest.mark.integration
def test_embedding_rows_as_libmultilabel(tmp_path: Path) -> None:
    from libmultilabel.nn.data_utils import load_or_build_text_dict, tokenize

    (tmp_path / "v").write_text("cat 0.1 -2e-3\nzebra 1 1\nnothing 3 3\n", encoding="utf-8")
    dataset = [{"text": tokenize(text)} for text in TEXTS]
    for normalize in (False, True):
        _, theirs = load_or_build_text_dict(dataset, embed_file=str(tmp_path / "v"), normalize_embed=normalize)
        ours = vectors(WordTokens.build(TEXTS), tmp_path / "v", normalize=normalize)
        known = [row for row in range(len(theirs)) if row != 1]  # <unk> is random in both
        torch.testing.assert_close(ours[known], theirs[known])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40), st.integers(0, 12))
def test_places_of_words_are_those_of_the_encoded_tokens(text: str, longest: int) -> None:
    words = ["<pad>", "<unk>", *sorted(set(words_of(text)))]
    tokens = WordTokens(words)
    spans = tokens.spans(text, longest)
    ids = tokens.encode([text], longest).ids.tolist()
    assert len(spans) == len(ids)
    assert all(
        number == tokens.id_of.get(text[slice(*span)].lower(), 1) for number, span in zip(ids, spans, strict=True)
    )
