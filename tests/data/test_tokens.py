from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.data.documents import Split
from plant_plugin.data.token_arrays import WHOLE_DOCUMENT
from plant_plugin.data.tokens import (
    SubwordTokens,
    WordTokens,
    build_tokens,
    embedding_matrix,
    encode_cached,
    load_tokens,
    words_of,
)
from plant_plugin.errors import CheckpointError, ConfigError, DataError

WORDS = "PLANT"
TEXTS = ["The cat_1, the CAT; 42 cats İç", "a dog\u00b2 ½ 7up a", "zebra", ""]


def split_of(texts: list[str]) -> Split:
    return Split(texts, [["l"]] * len(texts), name="train")


@pytest.fixture
def local_model(tmp_path: Path) -> Path:
    """A word-piece-like tokenizer with [CLS] and [SEP], saved as transformers does."""
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return make_tokenizer(tmp_path / "model", **names)


def make_tokenizer(folder: Path, **special: str) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "dog", "bird"]
    vocabulary = {name: number for number, name in enumerate(names)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(str(folder))
    return folder


def test_word_rule() -> None:
    assert words_of(TEXTS[0]) == ["the", "cat_1", "the", "cat", "cats", "i̇ç"]
    assert words_of("42 ½ 五 7up x_2-3 Γ") == ["7up", "x_2", "γ"]


@settings(deadline=None)  # the first call compiles
@given(st.text(st.sampled_from("aZ9_ -éß²½\u0301\u0903五İ\u200d、"), max_size=12))
def test_fast_words_equal_nltk(text: str) -> None:
    from nltk.tokenize import RegexpTokenizer

    found = [word.lower() for word in RegexpTokenizer(r"\w+").tokenize(text) if not word.isnumeric()]
    assert words_of(text) == found
    assert sorted(WordTokens.build([text]).words[2:]) == sorted(set(found))


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


def test_subwords(local_model: Path) -> None:
    tokens = SubwordTokens(local_model)
    arrays = tokens.encode(["the cat the dog", "", "fish"], max_length=5)
    assert arrays.ids.tolist() == [2, 4, 5, 4, 3, 2, 3, 2, 1, 3]
    assert arrays.lengths.tolist() == [5, 2, 3]
    assert (arrays.unknown_only, arrays.truncated) == (2, 1)
    assert tokens.encode(["the cat the", "the cat the dog"], WHOLE_DOCUMENT).truncated == 0
    assert (tokens.size, tokens.pad_id, tokens.token(5)) == (8, 0, "cat")
    assert tokens.special_ids == (0, 1, 2, 3)
    plain = SubwordTokens(local_model, add_special_tokens=False)
    assert plain.encode(["the cat the dog", ""], 3).ids.tolist() == [4, 5, 4]
    assert plain.hash() != tokens.hash()
    assert tokens.hash() == SubwordTokens(local_model).hash()  # also after encoding


def test_tokenizer_without_padding_token_uses_end_of_text(tmp_path: Path) -> None:
    tokens = SubwordTokens(make_tokenizer(tmp_path / "m", unk_token="[UNK]", eos_token="[SEP]", cls_token="[CLS]"))
    assert tokens.pad_id == 3
    assert tokens.special_ids == (1, 2, 3)
    assert tokens.encode(["cat"], 9).lengths.tolist() == [3]


def test_tokenizer_without_padding_and_end(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="neither a padding nor an end-of-text"):
        SubwordTokens(make_tokenizer(tmp_path / "m", unk_token="[UNK]"))


def test_lm_weight_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no tokenizer could be loaded") as caught:
        SubwordTokens(tmp_path, local_only=True)
    assert f"lm_weight: {tmp_path}" in str(caught.value)


def test_build_tokens(local_model: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("dog\n", encoding="utf-8")
    config = SimpleNamespace(
        model_name=WORDS, network_config={}, vocab_file=None, min_vocab_freq=2, add_special_tokens=False,
        cache_dir=str(tmp_path / "c"),
    )  # fmt: skip
    assert build_tokens(config, split_of(["a b", "a"])).size == 3
    config.vocab_file = str(tmp_path / "words")
    assert build_tokens(config, split_of(["a b", "a"])).token(2) == "dog"
    config.network_config = {"lm_weight": str(local_model)}
    subwords = build_tokens(config, split_of([]))
    assert isinstance(subwords, SubwordTokens)
    assert not subwords.add_special_tokens


def test_a_language_model_that_was_not_made_is_told_with_the_command_that_makes_it(tmp_path: Path) -> None:
    config = SimpleNamespace(model_name="PLANTL2R", network_config={"language_model": str(tmp_path / "lm")})
    with pytest.raises(ConfigError, match=r"(?s)there is no vocabulary in .*lm.*plant pretrain-lm"):
        build_tokens(config, split_of([]))


def test_words_are_built_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = SimpleNamespace(
        model_name=WORDS, network_config={}, vocab_file=None, min_vocab_freq=1, cache_dir=str(tmp_path / "cache")
    )
    built: list[int] = []
    build = WordTokens.build.__func__  # type: ignore[attr-defined]

    def counted(cls: type[WordTokens], texts: list[str], least: int) -> WordTokens:
        built.append(least)
        return build(cls, texts, least)

    monkeypatch.setattr(WordTokens, "build", classmethod(counted))
    first = build_tokens(config, split_of(["b a", "a"]))
    assert build_tokens(config, split_of(["b a", "a"])).words == first.words == ["<pad>", "<unk>", "a", "b"]
    assert built == [1]
    config.min_vocab_freq = 2
    assert build_tokens(config, split_of(["b a", "a"])).words == ["<pad>", "<unk>", "a"]
    assert build_tokens(config, split_of(["c a", "a c"])).words == ["<pad>", "<unk>", "a", "c"]
    assert built == [1, 2, 2]
    for path in (tmp_path / "cache").rglob("vocabulary.json"):
        path.write_text("{", encoding="utf-8")
    assert build_tokens(config, split_of(["b a", "a"])).words == ["<pad>", "<unk>", "a"]
    assert "damaged" in caplog.text
    config.cache_dir = str(tmp_path / "file")
    (tmp_path / "file").write_text("")
    assert build_tokens(config, split_of(["b a", "a"])).words == ["<pad>", "<unk>", "a"]
    assert "not kept" in caplog.text


def test_save_and_load_words(tmp_path: Path) -> None:
    tokens = WordTokens.build(TEXTS)
    tokens.save(tmp_path / "run")
    loaded = load_tokens(tmp_path / "run")
    assert isinstance(loaded, WordTokens)
    assert (loaded.words, loaded.hash()) == (tokens.words, tokens.hash())


def test_save_and_load_subwords(local_model: Path, tmp_path: Path) -> None:
    tokens = SubwordTokens(local_model, add_special_tokens=False)
    tokens.encode(["the cat"], 1)  # leaves truncation behind in the tokenizer
    tokens.save(tmp_path / "run")
    loaded = load_tokens(tmp_path / "run")
    assert isinstance(loaded, SubwordTokens)
    assert loaded.hash() == tokens.hash()
    assert loaded.encode(["the cat dog"], 2).ids.tolist() == [4, 5]
    assert not list((tmp_path / "run").rglob("*.pickle"))


@pytest.mark.parametrize("damage", ["missing", "torn", "changed", "not a table", "no words"])
def test_vocabulary_that_cannot_be_used(tmp_path: Path, damage: str) -> None:
    WordTokens.build(TEXTS).save(tmp_path)
    path = tmp_path / "vocabulary.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_text(path.read_text(encoding="utf-8")[:20], encoding="utf-8")
    else:
        changed = {"changed": {**content, "words": content["words"][:-1]}, "not a table": [], "no words": {}}
        path.write_text(json.dumps(changed[damage]), encoding="utf-8")
    with pytest.raises(CheckpointError, match="vocabulary"):
        load_tokens(tmp_path)


def test_cache_is_read_back_and_keyed_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, split = WordTokens.build(TEXTS), split_of(TEXTS)
    first = encode_cached(tokens, split, 4, tmp_path)
    (path,) = (tmp_path / "tokens").iterdir()
    for other in (
        encode_cached(tokens, split, 2, tmp_path),
        encode_cached(tokens, split_of(TEXTS[:2]), 4, tmp_path),
        encode_cached(WordTokens.build(TEXTS, 2), split, 4, tmp_path),
        encode_cached(tokens, split, None, tmp_path),
    ):
        assert other.ids.tolist() != first.ids.tolist()
    monkeypatch.setattr(WordTokens, "encode", lambda *_: pytest.fail("the cache was not used"))
    again = encode_cached(tokens, split, 4, tmp_path)
    np.testing.assert_array_equal(again.ids, first.ids)
    np.testing.assert_array_equal(again.offsets, first.offsets)
    assert (again.unknown_only, again.truncated) == (first.unknown_only, first.truncated)
    assert first.truncated > 0
    assert np.load(path / "ids.npy", allow_pickle=False).dtype == np.int32
    assert isinstance(again.ids, np.memmap)  # read from the file as batches ask for it, shared between processes
    assert not again.ids.flags.writeable


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_torn_cache_is_made_again(tmp_path: Path, damage: str) -> None:
    tokens, split = WordTokens.build(TEXTS), split_of(TEXTS * 50)
    first = encode_cached(tokens, split, 4, tmp_path)
    (path,) = (tmp_path / "tokens").glob("*/ids.npy")
    whole = path.read_bytes()
    if damage == "other":
        np.save(path, np.zeros(3, np.int32))
    else:
        flipped = whole[:200] + bytes(255 - byte for byte in whole[200:260]) + whole[260:]
        path.write_bytes({"cut": whole[: len(whole) // 2], "flipped": flipped, "empty": b""}[damage])
    np.testing.assert_array_equal(encode_cached(tokens, split, 4, tmp_path).ids, first.ids)
    assert path.read_bytes() == whole


def test_cache_folder_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    arrays = encode_cached(WordTokens.build(TEXTS), split_of(TEXTS), 4, tmp_path / "file")
    assert len(arrays) == 4
    assert "not kept" in caplog.text


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


def test_no_network_is_needed_to_load(local_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SubwordTokens(local_model).save(tmp_path / "run")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("asked the network"))
    assert load_tokens(tmp_path / "run").size == 8
    assert os.path.isdir(tmp_path / "run" / "tokenizer")
