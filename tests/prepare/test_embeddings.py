from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.word_tokens import WordTokens, embedding_matrix
from plant_plugin.errors import DataError
from plant_plugin.prepare.embeddings import passes_for, train_embeddings

SENTENCES = ["The quick brown fox 12 jumps", "the lazy dog sleeps", "a quick dog and a lazy fox"] * 4


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.txt"
    path.write_text("".join(f"a\t{text}\n" for text in [*SENTENCES, "rare rare rare rare"]), encoding="utf-8")
    return path


def test_files_and_determinism(train: Path, tmp_path: Path) -> None:
    out, vocabulary = train_embeddings(train, tmp_path / "new" / "v.txt", dim=6, min_count=3)
    assert vocabulary.name == "v.txt.vocab"
    words = vocabulary.read_text(encoding="utf-8").split()
    assert words == sorted(words)
    assert "quick" in words
    assert "rare" not in words  # four times, but in one document
    assert "12" not in words
    lines = out.read_text(encoding="utf-8").splitlines()
    assert [line.split(" ")[0] for line in lines] == words
    assert {len(line.split(" ")) for line in lines} == {7}
    again, _ = train_embeddings(train, tmp_path / "again.txt", dim=6, min_count=3)
    assert again.read_bytes() == out.read_bytes()
    other, _ = train_embeddings(train, tmp_path / "other.txt", dim=6, min_count=3, seed=2)
    assert other.read_bytes() != out.read_bytes()


@pytest.mark.parametrize(("words", "passes"), [(0, 50), (100_000, 50), (280_000, 36), (2_000_000, 5), (10**9, 5)])
def test_small_texts_get_more_passes(words: int, passes: int) -> None:
    assert passes_for(words) == passes


def test_passes_can_be_chosen(train: Path, tmp_path: Path) -> None:
    default, _ = train_embeddings(train, tmp_path / "a.txt", dim=6)
    one, _ = train_embeddings(train, tmp_path / "b.txt", dim=6, epochs=1)
    fifty, _ = train_embeddings(train, tmp_path / "c.txt", dim=6, epochs=50)
    assert default.read_bytes() == fifty.read_bytes() != one.read_bytes()


def test_read_back_by_our_own_reader(train: Path, tmp_path: Path) -> None:
    out, vocabulary = train_embeddings(train, tmp_path / "v.txt", dim=6)
    weights = embedding_matrix(WordTokens.from_file(vocabulary), out, normalize=False, seed=1)
    assert weights.shape[1] == 6
    assert (weights[2:].abs().sum(dim=1) > 0).all()


@pytest.mark.integration
def test_read_back_by_libmultilabel(train: Path, tmp_path: Path) -> None:
    from libmultilabel.nn.data_utils import load_or_build_text_dict

    out, vocabulary = train_embeddings(train, tmp_path / "v.txt", dim=6)
    words, weights = load_or_build_text_dict([], vocab_file=str(vocabulary), embed_file=str(out), silent=True)
    assert list(words)[2:] == vocabulary.read_text(encoding="utf-8").split()
    assert weights.shape == (len(words), 6)
    assert (weights[2:].abs().sum(dim=1) > 0).all()


def test_no_word_is_frequent_enough(train: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no word is in as many training documents as 99"):
        train_embeddings(train, tmp_path / "v.txt", min_count=99)
    assert not (tmp_path / "v.txt").exists()
