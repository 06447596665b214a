"""Stage 1 in closed form: the same queries as least squares over all tokens, in every network that has a head."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError, Interrupted
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.losses import attention_ndcg
from plant_plugin.report.run import Run
from plant_plugin.training import run as training_run
from plant_plugin.training.prepare import Prepared, prepare
from plant_plugin.training.run import run
from plant_plugin.training.stage1 import RIDGE, plant_queries

Made = Callable[..., Config]


def prepared_network(config: Config) -> tuple[Any, Prepared]:
    lightning.seed_everything(config.seed, verbose=False)
    of_run = Run(config.checkpoint_dir, silent=True)
    prepared = prepare(config, of_run)
    return training_run.build_network(prepared, config, of_run, planted=True), prepared


def test_equals_least_squares_over_all_tokens(made: Made) -> None:
    config = made(stage1__method="closed_form", stage1__strength=3.0, eval_batch_size=7)
    network, prepared = prepared_network(config)
    plant_queries(network, prepared, config.stage1.strength, torch.device("cpu"), silent=True)
    assert network.training
    network.eval()
    keys, relevance = [], []
    with torch.inference_mode():
        for batch in prepared.split("train", 16):
            hidden = network.encode(batch)
            labels = torch.arange(network.num_labels).expand(len(batch["text"]), -1)
            keys.append(network.head.keys(hidden.states)[hidden.mask].double().numpy())  # (tokens, A, D)
            relevance.append(hidden.prior.of_labels(labels).transpose(1, 2)[hidden.mask].double().numpy())
        found = network.head.queries().double().numpy()
    all_keys, target = np.concatenate(keys), np.concatenate(relevance)
    target = target - target.mean(axis=0)
    for head in range(all_keys.shape[1]):
        centred = all_keys[:, head] - all_keys[:, head].mean(axis=0)
        products = centred.T @ centred
        products += RIDGE * np.trace(products) / len(products) * np.eye(len(products))
        wanted = 3.0 * np.linalg.solve(products, centred.T @ target).T
        np.testing.assert_allclose(found[:, head], wanted, rtol=1e-3, atol=1e-4)


def test_a_run_needs_no_epoch_and_ranks_words_at_once(made: Made, tmp_path: Path) -> None:
    wide = {"network_config__num_heads": 1, "network_config__hidden_size": 64}
    config = made(**wide, stage1__method="closed_form", stage2__epochs=1)
    result = run(config)
    assert result["strategy"] == "plant"
    assert result["time_s"]["stage1"] > 0
    logs = json.loads(Path(config.log_path).read_text())
    (told,) = logs["stage1"]
    unplanted = made(
        **wide, stage1__epochs=1, stage1__learning_rate=1e-9, stage2__epochs=1, result_dir=str(tmp_path / "no")
    )
    run(unplanted)
    (before,) = json.loads(Path(unplanted.log_path).read_text())["stage1"]
    assert told["attention-nDCG@10"] > before["attention-nDCG@10"] + 0.2


def test_what_validation_is_told_is_the_mean_over_its_pairs(made: Made) -> None:
    config = made(stage1__method="closed_form", stage1__labels="all", stage2__epochs=1)
    network, prepared = prepared_network(config)
    plant_queries(network, prepared, config.stage1.strength, torch.device("cpu"), silent=True)
    network.eval()
    found = []
    for batch in prepared.split("val", config.eval_batch_size):
        hidden = network.encode(batch)
        labels = torch.arange(network.num_labels).expand(len(batch["text"]), -1)
        found.append(attention_ndcg(network.scores(hidden, labels), hidden.prior.of_labels(labels), hidden.mask, 10))
    wanted = float(torch.cat([part.flatten() for part in found]).nanmean())
    run(config)
    (told,) = json.loads(Path(config.log_path).read_text())["stage1"]
    assert told["attention-nDCG@10"] == pytest.approx(wanted, abs=1e-5)


def test_an_interrupted_run_does_not_plant_again(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[torch.Tensor] = []

    def stop(network: HeadNetwork, *others: Any) -> None:
        queries.append(network.head.queries().detach().clone())
        raise Interrupted("stopped before stage 2")

    config = made(stage1__method="closed_form", stage2__epochs=1)
    with monkeypatch.context() as patched:
        patched.setattr(training_run, "run_stage2", stop)
        with pytest.raises(Interrupted):
            run(config)
    (folder,) = Path(config.result_dir).glob("*")
    original = training_run.run_stage2

    def watch(network: HeadNetwork, *others: Any) -> None:
        queries.append(network.head.queries().detach().clone())
        original(network, *others)

    monkeypatch.setattr(training_run, "run_stage2", watch)
    monkeypatch.setattr("plant_plugin.training.stage1.plant_queries", lambda *arguments: pytest.fail("planted again"))
    assert run(made(stage1__method="closed_form", stage2__epochs=1, resume=str(folder)))["metrics"]
    planted, loaded = queries
    torch.testing.assert_close(loaded, planted)


def test_a_network_without_a_head_is_told(made: Made) -> None:
    config = made(model_name="own_network:OwnNetwork", network_config={}, stage1__method="closed_form")
    with pytest.raises(ConfigError, match="OwnNetwork has no attention head") as told:
        run(config)
    assert "method: gradient" in str(told.value.format_message())
