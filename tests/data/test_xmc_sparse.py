from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.tokens import build_tokens
from plant_plugin.data.xmc_sparse import XmcRow, has_header, read_pairs, read_words, read_xmc, words_of_row
from plant_plugin.errors import DataError
from plant_plugin.training.run import run


def write(folder: Path, text: str, name: str = "train.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_labels_features_and_empty_lists(end: str, tmp_path: Path) -> None:
    lines = ["4 6 3", "0,2 0:0.5 5:1", " 3:1e-3", "4:2", "1"]
    rows = list(read_xmc(write(tmp_path, end.join(lines) + end)))
    assert [(row.labels, row.features, row.values) for row in rows] == [
        ([0, 2], [0, 5], [0.5, 1.0]), ([], [3], [0.001]), ([], [4], [2.0]), ([1], [], []),
    ]  # fmt: skip
    assert [row.line for row in rows] == [2, 3, 4, 5]


def test_pairs_and_blank_lines_at_the_end(tmp_path: Path) -> None:
    assert list(read_pairs(write(tmp_path, "3 4\n0:1 3:1\n\n2:1\n\n\n"))) == [[0, 3], [], [2]]


def test_has_header(tmp_path: Path) -> None:
    assert has_header(write(tmp_path, "1 2 3\n"))
    assert not has_header(write(tmp_path, "1 2\n"))
    assert not has_header(write(tmp_path, ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 5 10\n1 1:1\n11 1:1\n2 1:1\n", "line 3: a label outside the 10 labels"),
        ("1 5 10\n-1 1:1\n", "line 2: a label outside"),
        ("1 5 10\n1 5:1\n", "line 2: a feature outside the 5 features of the first line, which count from 0"),
        ("1 5 10\nsecret 1:1\n", "line 2: not of the format"),
        ("1 5 10\n1 secret:1\n", "line 2: not of the format"),
        ("1 5 10\n1 1:secret\n", "line 2: not of the format"),
        ("2 5 10\n1 1:1\n", "documents: 1, and the first line says 2"),
        ("1 5 10\n1 1:1\n1 1:1\n", "more than the 1 documents"),
        ("1 1:1\n", "line 1: the first line has to be the numbers of documents, features and labels"),
        ("", "line 1: the first line has to be"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        list(read_xmc(path := write(tmp_path, text)))
    assert "secret" not in str(caught.value).replace(str(path), "")


def test_words_of_another_data_set(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 words for 3 features"):
        read_words(write(tmp_path, "a\nb\n"), 3)


def test_a_value_that_would_fill_the_memory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2: a document of more than 67,108,864 words"):
        words_of_row(XmcRow(2, [0], [0, 1], [1.0, 1e12]), ["fever", "cough"])


def test_plant_trains_on_bags_of_words(tmp_path: Path) -> None:
    train = write(tmp_path, "4 4 3\n0 0:2 3:1\n1 1:1\n0,1 0:1 1:3\n 2:0.7 3:1\n")
    test = write(tmp_path, "2 4 3\n0 0:1\n2 2:1\n", "test.txt")
    words = write(tmp_path, "fever\ncough\nankle\npain\n", "words.txt")
    settings = {
        "model_name": "PLANT", "data_format": "xmc", "training_file": str(train), "test_file": str(test),
        "vocab_file": str(words), "val_size": 0, "seed": 1, "epochs": 1, "silent": True, "cpu": True,
        "network_config": {"encoder": "cnn", "hidden_size": 4, "embed_dim": 4, "num_heads": 1, "pool_size": 4},
        "result_dir": str(tmp_path / "runs"), "cache_dir": str(tmp_path / "cache"), "monitor_metrics": ["P@1"],
    }  # fmt: skip
    config = load_config(None, settings)
    corpus = load_corpus(config)
    assert corpus.train.texts == ["fever fever pain", "cough", "fever cough cough cough", "ankle pain"]
    assert corpus.train.labels == [["0"], ["1"], ["0", "1"], []]
    assert build_tokens(config, corpus.train).size == 2 + 4
    result = run(config)
    assert result["counts"]["documents"] == 2
    assert result["counts"]["labels"] == 2
