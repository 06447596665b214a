from __future__ import annotations

import logging
from typing import Any

import pytest

from plant_plugin.data.documents import Corpus, Split
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.host.checks import check_labels, explained, load_tokenizer, warn_changed_labels


def split(name: str, labels: list[list[str]]) -> Split:
    return Split(["text"] * len(labels), labels, name=name)


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(split("train", [["a"], ["b"]]), None, split("test", [["c"]]), ["a", "b"])


def test_the_cause_that_libmultilabel_hides_is_told() -> None:
    from libmultilabel.nn.nn_utils import init_model

    with pytest.raises(ConfigError, match=r"KimCNN cannot be built .*unexpected keyword argument 'filters'"):
        with explained("KimCNN"):
            init_model("KimCNN", {"filters": 3}, classes=["a"])
    with pytest.raises(AttributeError, match="something else"), explained("KimCNN"):
        raise AttributeError("something else")


def test_a_checkpoint_of_other_labels(corpus: Corpus) -> None:
    check_labels(corpus, ["a", "b", "z"], "best_model.ckpt", training=True)
    with pytest.raises(CheckpointError, match=r"best_model\.ckpt: .* has 2 labels and lacks 1 of the 2"):
        check_labels(corpus, ["a", "z"], "best_model.ckpt", training=True)
    check_labels(corpus, ["c", "z"], "best_model.ckpt", training=False)
    with pytest.raises(CheckpointError, match="none of the 1 labels"):
        check_labels(corpus, ["a", "z"], "best_model.ckpt", training=False)


def test_renamed_labels_are_noticed(corpus: Corpus, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_changed_labels(corpus, [["a"], ["b"]])
        assert not caplog.records
        warn_changed_labels(corpus, [["a"], ["b.0"]])
    assert "1 training labels" in caplog.text


def test_a_language_model_that_is_none(tmp_path: Any) -> None:
    with pytest.raises(ConfigError, match="lm_weight"):
        load_tokenizer(str(tmp_path))


def test_a_tokenizer_without_padding(tmp_path: Any) -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}))).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="no padding token"):
        load_tokenizer(str(tmp_path))
