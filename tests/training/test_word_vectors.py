from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from plant_plugin.config import Config
from plant_plugin.prepare.embeddings import train_embeddings
from plant_plugin.report.run import Run
from plant_plugin.training import word_vectors as module
from plant_plugin.training.inputs import prepare
from plant_plugin.training.run import run
from plant_plugin.training.word_vectors import word_vectors

Made = Callable[..., Config]


def made_vectors(config: Config, folder: Path, *, dim: int | None = 6, trained: bool = False) -> torch.Tensor:
    own = Run(folder, silent=True)
    documents = prepare(config, own)
    return word_vectors(documents, documents.tokens, config, dim, own, trained=trained)  # type: ignore[arg-type]


def test_word2vec_gives_what_the_command_writes_and_is_kept_for_other_seeds(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(embed_file="word2vec", min_vocab_freq=3, cache_dir=str(tmp_path / "cache"))
    vectors = made_vectors(config, tmp_path / "run")
    file, _ = train_embeddings(config.training_file or "", tmp_path / "v.txt", dim=6, min_count=3)
    written = {tuple(map(float, line.split()[1:])) for line in file.read_text().splitlines()}
    assert vectors.shape == (len(written) + 2, 6)
    assert {tuple(np.round(row, 6)) for row in vectors[2:].double().numpy()} == written
    monkeypatch.setattr(module, "write_embeddings", None)  # not called again
    other = made(embed_file="word2vec", min_vocab_freq=3, cache_dir=str(tmp_path / "cache"), seed=7)
    assert torch.equal(made_vectors(other, tmp_path / "other")[2:], vectors[2:])


def test_a_cache_that_cannot_be_written_only_costs_a_warning(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "word2vec").write_text("in the way")
    vectors = made_vectors(made(embed_file="word2vec", cache_dir=str(tmp_path / "cache")), tmp_path / "run")
    assert vectors.abs().sum() > 0
    assert "Word vectors are not kept" in caplog.text


def test_weights_that_come_after_need_no_word2vec(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "write_embeddings", None)
    assert made_vectors(made(embed_file="word2vec"), tmp_path / "run", dim=None, trained=True).shape[1] == 100


@pytest.mark.integration
def test_a_network_trains_on_them_to_its_end_and_is_tested_again(made: Made, tmp_path: Path) -> None:
    config = made(embed_file="word2vec", cache_dir=str(tmp_path / "cache"))
    assert "word vectors" in run(config)["time_s"]
    run(made(embed_file="word2vec", eval=True, checkpoint_path=str(config.checkpoint_dir)))
