"""``plant pretrain-lm``: what it reads, that it goes on where it was killed, and the encoders that start from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made_up_task import made_config, write_splits
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.data.tokens import load_tokens
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.l2r import language_model
from plant_plugin.l2r.language_model import Pretraining, columns, pretrain, stream, unigram_perplexity
from plant_plugin.training.run import run

SMALL = {"embed_dim": 8, "hidden_size": 12, "num_layers": 2, "word_dropout": 0.1, "weight_dropout": 0.1}
SHORT = Pretraining(epochs=2, learning_rate=0.01, batch_size=8, segment_tokens=10)
RANKER = {"ranker_size": 8, "ranker_hidden": 8}
AWD = {**SMALL, "encoder": "awd_lstm"}


def over(folder: Path, name: str = "lm", **changes: Any) -> Config:
    """A configuration of a network over an AWD-LSTM; dots as ``__``."""
    given = {"model_name": "PLANTL2R", "network_config": {**SMALL, **RANKER}, "stage1__pairs": "top_vs_all",
             "stage2__hard_negatives": None, "stage2__loss": "bce", **changes}  # fmt: skip
    given["network_config"] = {"language_model": str(folder / name), **given["network_config"]}
    return made_config(folder, **given)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_splits(tmp_path)
    return tmp_path


@pytest.mark.integration
def test_a_killed_training_goes_on_to_the_same_weights(folder, monkeypatch):
    both = {**SMALL, "directions": "both"}
    pretrain(over(folder, "whole", network_config=both), SHORT)
    monkeypatch.setattr(language_model, "SAVE_SECONDS", 0.0)
    step = language_model._Training._train_step
    for last in (3, 31):  # within the first epoch, and within the second one

        def killed(self: Any, start: int, last: int = last) -> None:
            if self.step == last:
                raise KeyboardInterrupt
            step(self, start)

        monkeypatch.setattr(language_model._Training, "_train_step", killed)
        with pytest.raises(KeyboardInterrupt):
            pretrain(over(folder, "killed", network_config=both), SHORT)
    monkeypatch.setattr(language_model._Training, "_train_step", step)
    pretrain(over(folder, "killed", network_config=both), SHORT)
    for name in ("forward", "backward"):
        one, other = (load_file(folder / kind / f"{name}.safetensors") for kind in ("whole", "killed"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    assert not list((folder / "killed").glob("*.state"))
    monkeypatch.setattr(language_model._Training, "_train_step", killed)
    pretrain(over(folder, "killed", network_config=both), SHORT)  # has ended: nothing is trained


def test_it_reads_training_texts_alone_and_beats_word_frequencies_where_words_follow_each_other(folder, capsys):
    for name, canary in (("train", ""), ("valid", " canaryvalid"), ("test", " canarytest")):
        lines = [f"L{number % 3}\t" + " ".join(["one two three four five six"] * 3) + canary for number in range(40)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    found = pretrain(over(folder, min_vocab_freq=1), replace(SHORT, epochs=8, learning_rate=0.05))["forward"]
    assert not any(word.startswith("canary") for word in load_tokens(folder / "lm").words)
    assert found["perplexity"] < 0.7 * found["unigram_perplexity"]
    assert "epoch 8/8" in capsys.readouterr().out.splitlines()[-1]


def test_it_says_so_where_it_is_no_better_than_word_frequencies(folder, capsys):
    pretrain(over(folder), replace(SHORT, epochs=1, learning_rate=1e-9))
    assert "no better than word frequencies" in capsys.readouterr().out.splitlines()[-1]


def test_a_stream_has_a_mark_before_each_document_and_is_cut_into_columns():
    arrays = TokenArrays(np.array([5, 6, 7, 8, 9], np.int32), np.array([0, 3, 3, 5]))
    assert stream(arrays, 0, backward=False).tolist() == [0, 5, 6, 7, 0, 0, 8, 9]
    assert stream(arrays, 0, backward=True).tolist() == [0, 7, 6, 5, 0, 0, 9, 8]
    assert columns(np.arange(9), 4).tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    train = np.array([1, 1, 2])
    assert unigram_perplexity(train, np.array([0, 1, 2]), 3) == pytest.approx((6 / 3 * 6 / 2) ** 0.5)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="PLANTL2R", marks=pytest.mark.integration),
        pytest.param({"network_config": {**SMALL, **RANKER, "directions": "both"}}, id="both"),
        pytest.param({"model_name": "PLANT", "network_config": {**AWD, "num_heads": 2, "pool_size": 4}}, id="PLANT"),
        pytest.param({"model_name": "LAAT", "network_config": {**AWD, "projection_size": 5}}, id="LAAT",
                     marks=pytest.mark.integration),
        pytest.param({"model_name": "PlantedCAML", "network_config": AWD}, id="PlantedCAML",
                     marks=pytest.mark.integration),
    ],
)  # fmt: skip
def test_an_encoder_starts_from_it_with_its_words_and_trains(folder, changes):
    config = over(folder, min_vocab_freq=3, **changes)
    pretrain(config, SHORT)
    words = load_tokens(folder / "lm").words
    result = run(over(folder, min_vocab_freq=1, **changes))  # the words are those of the language model all the same
    found = next((folder / "runs").glob("*/vocabulary.json")).parent
    assert load_tokens(found).words == words
    assert result["metrics"]["nDCG@5"] > 0


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"network_config": {**SMALL, "directions": "both"}}, "no backward language model"),
        ({"network_config": {**SMALL, "hidden_size": 13}}, "other sizes"),
        ({"model_name": "PLANT", "network_config": {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 8}},
         "no such argument"),
    ],
)  # fmt: skip
def test_a_language_model_that_does_not_fit_is_told_before_anything_trains(folder, changes, match):
    pretrain(over(folder), SHORT)
    with pytest.raises(ConfigError, match=match):
        run(over(folder, **changes))
    assert not list((folder / "runs").glob("*/stage1"))


def test_a_folder_of_other_texts_or_options_is_not_gone_on_with(folder):
    pretrain(over(folder), SHORT)
    with pytest.raises(CheckpointError, match="of other options"):
        pretrain(over(folder), replace(SHORT, epochs=3))
    with pytest.raises(ConfigError, match="no folder"):
        pretrain(over(folder, network_config={**SMALL, "language_model": None}), SHORT)
