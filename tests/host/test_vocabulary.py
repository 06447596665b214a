from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from libmultilabel.nn import data_utils

from plant_plugin.data.word_tokens import WordTokens, embedding_matrix
from plant_plugin.errors import CheckpointError, DataError, PlantError
from plant_plugin.host.vocabulary import saved_words, vectors_file


def test_cached_vectors_are_not_downloaded_again(tmp_path: Path) -> None:
    (tmp_path / "glove.6B.50d.txt").write_text("heart 1 2\nlung 3 4\n")
    tokens = WordTokens(["<pad>", "<unk>", "lung", "spleen"])
    file = vectors_file("glove.6B.50d", tmp_path)
    vectors = embedding_matrix(tokens, file, normalize=False, seed=1)
    assert vectors[[0, 2, 3]].tolist() == [[0, 0], [3, 4], [0, 0]]
    assert vectors[1].abs().sum() > 0
    words = {word: row for row, word in enumerate(["<pad>", "<unk>", "lung", "spleen"])}
    theirs = data_utils.get_embedding_weights_from_file(words, "glove.6B.50d", silent=True, cache_dir=str(tmp_path))
    assert torch.equal(theirs[[0, 2, 3]], vectors[[0, 2, 3]])


def test_neither_a_file_nor_a_release() -> None:
    with pytest.raises(DataError, match="not a name of GloVe vectors"):
        vectors_file("glove.7B.50d")


@pytest.mark.parametrize("leaves_half_a_file", [False, True])
def test_glove_that_cannot_be_downloaded(
    leaves_half_a_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(url: str, filename: str) -> tuple[str, None]:
        if leaves_half_a_file:
            Path(filename).write_bytes(b"half a zip")
            return filename, None
        raise OSError("no route to host")

    monkeypatch.setattr(data_utils, "urlretrieve", fails)
    reason = "BadZipFile" if leaves_half_a_file else "no route to host"
    with pytest.raises(PlantError, match=rf"glove\.6B\.50d could not be downloaded .*{reason}") as caught:
        vectors_file("glove.6B.50d", tmp_path)
    assert "plant embeddings" in (caught.value.fix or "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interruption", [OSError("no route to host"), KeyboardInterrupt()])
def test_a_download_touches_nothing_else_in_the_folder(
    interruption: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(url: str, filename: str) -> tuple[str, None]:
        Path(filename).with_name("glove.6B.50d.txt").write_text("heart 1")  # half of it is unpacked
        raise interruption

    monkeypatch.setattr(data_utils, "urlretrieve", interrupted)
    (tmp_path / "somebodys.zip").touch()
    with pytest.raises((PlantError, KeyboardInterrupt)):
        vectors_file("glove.6B.50d", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["somebodys.zip"]


def test_every_size_of_a_release_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(url: str, filename: str) -> tuple[str, None]:
        with zipfile.ZipFile(filename, "w") as archive:
            for size in (50, 100):
                archive.writestr(f"glove.6B.{size}d.txt", "heart 1 2\n")
        return filename, None

    monkeypatch.setattr(data_utils, "urlretrieve", fetch)
    assert vectors_file("glove.6B.50d", tmp_path / "new").read_text() == "heart 1 2\n"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["glove.6B.100d.txt", "glove.6B.50d.txt"]


@pytest.mark.parametrize("content", [pickle.dumps(["heart"]), pickle.dumps(7), b"torn"])
def test_a_vocabulary_that_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "word_dict.pickle").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"word_dict\.pickle: not a vocabulary of LibMultiLabel"):
        saved_words(tmp_path)
