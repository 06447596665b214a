"""Every trial changes how a network trains while it lasts, and leaves the package as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import scipy.sparse as sp
import torch
import trials
from definitions import load_definitions, plan
from made_up_task import made_config, write_splits

from plant_plugin.errors import ConfigError
from plant_plugin.networks import language_baselines
from plant_plugin.networks.plantable import Hidden
from plant_plugin.networks.planted_plm_ca import OwnOutputsHead
from plant_plugin.relevance import phrases
from plant_plugin.relevance.phrases import PlantedPhrases
from plant_plugin.report.run import Run
from plant_plugin.training import inputs, stage2
from plant_plugin.training.build import build_network
from plant_plugin.training.inputs import Inputs, prepare
from plant_plugin.training.run import run

TRIALS = sorted(
    {
        flags["trial"]
        for definition in load_definitions().values()
        for flags in (definition.get("flags", {}), *definition["variants"].values())
        if "trial" in flags
    }
)
READINGS = {"whole_words": None, "six_letters": 6}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("splits")
    write_splits(folder)
    return folder


def trained(places: Path, name: str) -> dict[str, Any]:
    options = {"stage1__epochs": 1, "stage2__epochs": 2, "stage2__hard_negatives": 2}
    config = made_config(places, network_config__planted_prior="additive", **options, result_dir=str(places / name))
    run(config)
    (logs,) = (places / name).glob("*/logs.json")
    return json.loads(logs.read_text())


@pytest.fixture(scope="module")
def untried(places: Path) -> dict[str, Any]:
    return trained(places, "untried")


def of_package() -> list[Any]:
    training = [stage2.Stage2._loss, stage2.Stage2.on_validation_epoch_end, inputs.compute_relevance]
    return [*training, phrases.READINGS, language_baselines.CrossAttentionHead]


@pytest.mark.parametrize("trial", TRIALS)
def test_a_trial_leaves_the_package_as_it_was(trial: str) -> None:
    before = of_package()
    with getattr(trials, trial)():
        assert of_package() != before
    assert of_package() == before


@pytest.mark.integration
def test_another_relevance_is_ranked(places: Path, untried: dict[str, Any]) -> None:
    with trials.tf_idf():
        logs = trained(places, "tf_idf")
    assert logs["stage1"] != untried["stage1"]
    assert logs["val"] != untried["val"]


@pytest.mark.integration
def test_training_documents_are_watched_without_changing_the_run(places: Path, untried: dict[str, Any]) -> None:
    assert "train" not in untried
    with trials.watched_training():
        logs = trained(places, "watched_training")
    assert logs["val"] == untried["val"]
    assert [set(epoch) for epoch in logs["train"]] == 2 * [{"P@1", "nDCG@5", "Macro-F1", "Loss"}]
    assert logs["train"][1]["Loss"] < logs["train"][0]["Loss"]


@pytest.mark.parametrize("trial", READINGS)
def test_phrases_can_be_read_in_one_way_alone(trial: str) -> None:
    texts, labels, evidence = ["a wheezing child"], sp.csr_array([[1.0]]), [{"R06.2": [(2, 10)]}]
    whole = PlantedPhrases.fit(texts, labels, evidence, ["R06.2"])
    with getattr(trials, trial)():
        (reading,) = PlantedPhrases.fit(texts, labels, evidence, ["R06.2"]).readings
    assert reading.letters == READINGS[trial]
    assert len(whole.readings) == 2


def test_rare_labels_can_be_left_out_of_stage_2(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "COMMON", 0.16)
    config = made_config(places, stage2__hard_negatives=2)
    record = Run(places / "rare", silent=True)
    documents = prepare(config, record)
    common = documents.labels["train"].toarray().mean(axis=0) >= 0.16
    assert 2 < common.sum() < documents.num_labels
    network, inputs = build_network(documents, config, record), Inputs(documents)
    module = stage2.Stage2(network, config.stage2, config, inputs.batches("train", 8), None)
    module.inputs = inputs
    with trials.common_labels_alone():
        for batch in inputs.batches("train", 8):
            module.training_loss(batch).backward()
    touched = network.head.label_embeddings.grad.abs().sum(dim=1) > 0
    assert touched.tolist() == common.tolist()


def test_on_validation_no_test_document_is_looked_at() -> None:
    for experiment in ("stage1_choices", "with_scores", "stage2_choices", "screening"):
        runs, _ = plan(experiment, "demo", [1])
        assert {planned.flags["test_file"] for planned in runs} == {"demo:valid"}
        assert {planned.trial for planned in runs} - {None} <= set(TRIALS)
        with pytest.raises(ConfigError, match="no file of them"):
            plan(experiment, "bc5cdr", [1])


def test_an_output_per_label_is_the_head_of_planted_plm_ca() -> None:
    with trials.output_per_label():
        assert language_baselines.CrossAttentionHead is OwnOutputsHead
    head = OwnOutputsHead(8, 3)
    hidden = Hidden(torch.randn(2, 5, 8), torch.ones(2, 5, dtype=torch.bool))
    head(hidden)[:, 1].sum().backward()
    assert head.output.weight.grad is not None
    assert head.output.weight.grad.abs().sum(dim=1).bool().tolist() == [False, True, False]
