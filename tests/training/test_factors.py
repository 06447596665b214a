"""Stage 1 from factors: the decomposed relevance in words and queries, and the ranking loss that goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError, Interrupted
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.language_baselines import CrossAttentionHead
from plant_plugin.networks.losses import attention_ndcg
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.report.run import Run
from plant_plugin.training import run as training_run
from plant_plugin.training.factors import plant_factors
from plant_plugin.training.prepare import Prepared, prepare
from plant_plugin.training.run import run

Made = Callable[..., Config]


def prepared_network(config: Config) -> tuple[Any, Prepared]:
    lightning.seed_everything(config.seed, verbose=False)
    of_run = Run(config.checkpoint_dir, silent=True)
    prepared = prepare(config, of_run)
    return training_run.build_network(prepared, config, of_run, planted=True), prepared


FACTORS = {"stage1__start": "factors", "stage1__strength": 8.0, "network_config__num_heads": 1}
ALONE = {**FACTORS, "stage1__epochs": 0, "stage2__epochs": 1}


@pytest.mark.parametrize(("limit", "batches"), [(1.0, 4), (3, 3), (0.5, 2)])
def test_what_validation_is_told_is_the_mean_over_its_pairs(made: Made, limit: float, batches: int) -> None:
    config = made(**ALONE, stage1__labels="all", eval_batch_size=8, limit_val_batches=limit)
    network, prepared = prepared_network(config)
    assert prepared.relevance is not None
    plant_factors(network, prepared.relevance.matrix, config.stage1.strength)
    network.eval()
    found = []
    for batch in [*prepared.split("val", config.eval_batch_size)][:batches]:
        hidden = network.encode(batch)
        labels = torch.arange(network.num_labels).expand(len(batch["text"]), -1)
        found.append(attention_ndcg(network.scores(hidden, labels), hidden.prior.of_labels(labels), hidden.mask, 10))
    wanted = float(torch.cat([part.flatten() for part in found]).nanmean())
    run(config)
    (logs,) = Path(config.result_dir).glob("*/logs.json")
    (told,) = json.loads(logs.read_text())["stage1"]
    assert told["attention-nDCG@10"] == pytest.approx(wanted, abs=1e-5)


def test_an_interrupted_run_does_not_plant_again(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[torch.Tensor] = []

    def stop(network: HeadNetwork, *others: Any) -> None:
        queries.append(network.head.queries().detach().clone())
        raise Interrupted("stopped before stage 2")

    config = made(**ALONE)
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
    monkeypatch.setattr("plant_plugin.training.stage1.plant_factors", lambda *arguments: pytest.fail("planted again"))
    assert run(made(**ALONE, resume=str(folder)))["metrics"]
    planted, loaded = queries
    torch.testing.assert_close(loaded, planted)


ARCHITECTURES = [
    {},
    {"network_config": {"encoder": "cnn", "hidden_size": 32, "filter_sizes": [2, 4], "pool_size": 16, "num_heads": 1}},
    {"model_name": "PlantedCAML", "network_config": {"num_filter_per_size": 32, "filter_sizes": [4]}},
]


def without_context(network: Any) -> None:
    """Nothing of the drawn convolutions, and no dropout: words alone."""
    with torch.no_grad():
        for module in network.backbone.encoder.modules():
            if isinstance(module, torch.nn.Conv1d):
                module.weight.copy_(module.weight >= 0.9)
                module.bias.zero_()
    network.eval()


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=["cnn", "two_widths", "caml"])
def test_factors_score_words_as_the_decomposed_relevance_does(made: Made, architecture: dict[str, Any]) -> None:
    config = made(**(architecture or FACTORS))
    network, prepared = prepared_network(config)
    assert prepared.relevance is not None
    plant_factors(network, prepared.relevance.matrix, 8.0)
    without_context(network)
    vectors = network.backbone.embedding.weight.detach()[:, : network.backbone.hidden_size]
    queries = network.head.queries().detach()[:, 0]
    linear = queries @ vectors.T  # (L, V)
    best = linear[:, 1:].amax(dim=1)
    torch.testing.assert_close(best, torch.full_like(best, 8.0), rtol=0.05, atol=0.05)
    dense = prepared.relevance.matrix.toarray()
    agree = [np.corrcoef(linear[label, 1:].numpy(), dense[label, 1:])[0, 1] for label in range(len(dense))]
    assert np.mean(agree) > 0.5
    with torch.inference_mode():
        for batch in prepared.split("train", 4):
            hidden = network.encode(batch)
            labels = torch.arange(network.num_labels).expand(len(batch["text"]), -1)
            wanted = torch.tanh(vectors[batch["text"]]) @ queries.T  # (B, T, L): each word by itself
            found = network.scores(hidden, labels).transpose(1, 2)
            torch.testing.assert_close(found[hidden.mask], wanted[hidden.mask], rtol=1e-3, atol=1e-3)


def test_epochs_of_the_ranking_loss_go_on_from_factors(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = {"network_config__hidden_size": 64, "network_config__embed_dim": 64}
    config = made(**{**FACTORS, **wide, "stage1__epochs": 1, "stage2__epochs": 1, "silent": False})
    run(config)
    told = capsys.readouterr().err
    elsewhere = {"stage1__start": "drawn", "result_dir": str(tmp_path / "drawn")}
    drawn = made(**{**FACTORS, **wide, **elsewhere, "stage1__epochs": 1, "stage2__epochs": 1, "silent": False})
    run(drawn)
    starts = [float(text.split("attention-nDCG@10 ")[1].split(";")[0]) for text in (told, capsys.readouterr().err)]
    assert starts[0] > starts[1] + 0.2
    (ranked,), (chance,) = (json.loads(Path(one.log_path).read_text())["stage1"] for one in (config, drawn))
    assert ranked["attention-nDCG@10"] > chance["attention-nDCG@10"]


def test_no_epochs_leave_the_factors_as_they_are(made: Made) -> None:
    config = made(**ALONE)
    assert run(config)["metrics"]
    (told,) = json.loads(Path(config.log_path).read_text())["stage1"]
    assert told["attention-nDCG@10"] > 0.5


WORDS = {"embed_dim": 16}
PLANTED = {**WORDS, "encoder": "cnn", "hidden_size": 16, "pool_size": 8, "filter_sizes": [3]}
NETWORKS: list[tuple[str, dict[str, Any], str | None]] = [
    ("PLANT", {**PLANTED, "num_heads": 1}, None),
    ("PLANT", {**PLANTED, "num_heads": 2}, "there are 2 heads"),
    ("PLANT", PLANTED, "there are 8 heads"),
    (
        "PLANT",
        {**WORDS, "encoder": "bigru", "num_heads": 1},
        "PLANT, as it is configured, does not encode words by one",
    ),
    ("PlantedCAML", {**WORDS, "num_filter_per_size": 16}, None),
    ("PlantedBiGRULWAN", {**WORDS, "rnn_dim": 16}, "PlantedBiGRULWAN, as it is configured, does not"),
    ("LAAT", {**WORDS, "hidden_size": 16, "projection_size": 8}, "LAAT, as it is configured, does not"),
    ("MultiResCNN", {**WORDS, "filter_sizes": [3]}, "MultiResCNN, as it is configured, does not"),
]


@pytest.mark.parametrize(("name", "options", "what"), NETWORKS)
def test_factors_are_refused_before_data_are_read(
    made: Made, name: str, options: dict[str, Any], what: str | None
) -> None:
    """The configuration's rules and the network itself are of one mind."""
    network, prepared = prepared_network(made(model_name=name, network_config=dict(options)))
    assert prepared.relevance is not None
    asked = {"model_name": name, "network_config": dict(options), "stage1__start": "factors"}
    if what is None:
        made(**asked)
        plant_factors(network, prepared.relevance.matrix, 8.0)
        return
    with pytest.raises(ConfigError, match=r"(?s)stage1\.start.*" + what):
        made(**asked)
    made(**asked, strategy="end_to_end")  # which has no stage 1
    with pytest.raises(ConfigError, match=r"stage1\.start: factors"):
        plant_factors(network, prepared.relevance.matrix, 8.0)


def test_factors_under_a_network_of_somebodys_own(made: Made) -> None:
    with pytest.raises(ConfigError, match="OwnNetwork does not encode words by one layer of convolutions"):
        run(made(model_name="own_network:OwnNetwork", network_config={}, stage1__start="factors"))


def test_factors_need_keys_that_can_be_the_states(made: Made) -> None:
    network, prepared = prepared_network(made(**FACTORS))
    network.head = CrossAttentionHead(network.backbone.hidden_size, network.num_labels)
    before, relevance = network.backbone.embedding.weight.detach().clone(), prepared.relevance
    assert relevance is not None
    with pytest.raises(ConfigError, match="the keys of CrossAttentionHead cannot be the states"):
        plant_factors(network, relevance.matrix, 8.0)
    torch.testing.assert_close(network.backbone.embedding.weight, before)


@pytest.mark.parametrize(
    "keys",
    [{"stage1__epochs": 0}, {"stage2__epochs": 0, "strategy": "end_to_end"}],
    ids=str,
)
def test_what_would_plant_nothing_is_refused(made: Made, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"stage[12]"):
        made(**keys)


def test_no_epochs_of_stage_2_leave_the_network_of_stage_1(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, torch.Tensor] = {}
    original = training_run.run_stage2

    def watch(network: HeadNetwork, *others: Any) -> None:
        kept.update({name: tensor.detach().clone() for name, tensor in trained_state(network).items()})
        original(network, *others)

    monkeypatch.setattr(training_run, "run_stage2", watch)
    run(made(stage2__epochs=1, result_dir=str(tmp_path / "whole")))
    monkeypatch.undo()
    config = made(stage2__epochs=0, result_dir=str(tmp_path / "stage1"))
    assert run(config)["metrics"]
    found = load_file(Path(config.checkpoint_dir) / "model.safetensors")
    assert found.keys() == kept.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, kept[name], rtol=0, atol=0)
