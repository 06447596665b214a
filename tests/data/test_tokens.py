from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from plant_plugin.data.documents import Split
from plant_plugin.data.subword_tokens import SubwordTokens
from plant_plugin.data.tokens import build_tokens, encode_cached, load_tokens
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import CheckpointError, ConfigError

WORDS = "PLANT"
TEXTS = ["The cat_1, the CAT; 42 cats İç", "a dog\u00b2 ½ 7up a", "zebra", ""]


def split_of(texts: list[str]) -> Split:
    return Split(texts, [["l"]] * len(texts), name="train")


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

    def counted(cls: type[WordTokens], texts: list[str], least: int, splitter: str | None) -> WordTokens:
        built.append(least)
        return build(cls, texts, least, splitter)

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


def test_no_network_is_needed_to_load(local_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SubwordTokens(local_model).save(tmp_path / "run")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("asked the network"))
    assert load_tokens(tmp_path / "run").size == 8
    assert os.path.isdir(tmp_path / "run" / "tokenizer")
