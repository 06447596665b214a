"""Every trial changes how a network trains, and leaves the package as it was."""

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
from torch import Tensor

from plant_plugin.errors import ConfigError
from plant_plugin.networks import losses
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.relevance.phrases import PlantedPhrases
from plant_plugin.report.run import Run
from plant_plugin.training import closed_form, stage1, stage2
from plant_plugin.training import prepare as training_prepare
from plant_plugin.training import run as training_run
from plant_plugin.training.build import build_network
from plant_plugin.training.prepare import prepare
from plant_plugin.training.run import run

TRIALS = sorted(
    {
        flags["trial"]
        for definition in load_definitions().values()
        for flags in (definition.get("flags", {}), *definition["variants"].values())
        if "trial" in flags
    }
)
IN_STAGE1 = ("labels_by_relevance", "ranks_what_the_prior_leaves", "identity_projections", "more_ridge", "tf_idf")
IN_CLOSED_FORM = ("more_ridge",)
READINGS = {"whole_words": None, "six_letters": 6}
HAVE_TESTS = ("watched_training", "common_labels_alone", *READINGS)  # of their own: here they change nothing


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("splits")
    write_splits(folder)
    return folder


def trained(places: Path, name: str, method: str) -> dict[str, Any]:
    options = {"stage1__method": method, "stage1__epochs": 1, "stage2__epochs": 2, "stage2__hard_negatives": 2}
    config = made_config(places, network_config__planted_prior="additive", **options, result_dir=str(places / name))
    run(config)
    (logs,) = (places / name).glob("*/logs.json")
    return json.loads(logs.read_text())


@pytest.fixture(scope="module")
def untried(places: Path) -> dict[str, dict[str, Any]]:
    return {method: trained(places, f"untried_{method}", method) for method in ("gradient", "closed_form")}


def of_package() -> list[Any]:
    return [
        stage2.Stage2.configure_gradient_clipping, stage2.Stage2.training_loss, stage2.Stage2._loss,
        stage2.hard_negatives,
        stage1.attention_loss, losses.focal_loss, training_run.run_stage1, training_run.run_stage2,
        LabelAttentionHead.reset_parameters, closed_form.RIDGE, training_prepare.compute_relevance,
    ]  # fmt: skip


@pytest.mark.parametrize("trial", [trial for trial in TRIALS if trial not in HAVE_TESTS])
def test_a_trial_trains_otherwise_while_it_lasts(trial: str, places: Path, untried: dict[str, dict[str, Any]]) -> None:
    before, method = of_package(), "closed_form" if trial in IN_CLOSED_FORM else "gradient"
    with getattr(trials, trial)():
        assert of_package() != before
        logs = trained(places, trial, method)
    assert of_package() == before
    assert logs["val"] != untried[method]["val"]
    assert (logs.get("stage1") != untried[method]["stage1"]) == (trial in IN_STAGE1)


def test_training_documents_are_watched_without_changing_the_run(
    places: Path, untried: dict[str, dict[str, Any]]
) -> None:
    assert "train" not in untried["gradient"]
    with trials.watched_training():
        logs = trained(places, "watched_training", "gradient")
    assert logs["val"] == untried["gradient"]["val"]
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
    prepared = prepare(config, record)
    common = prepared.labels["train"].toarray().mean(axis=0) >= 0.16
    assert 2 < common.sum() < prepared.num_labels
    network = build_network(prepared, config, record, planted=False)
    module = stage2.Stage2(network, config.stage2, config, prepared.split("train", 8), None)
    module.prepared = prepared
    with trials.common_labels_alone():
        for batch in prepared.split("train", 8):
            module.training_loss(batch).backward()
    touched = network.head.label_embeddings.grad.abs().sum(dim=1) > 0
    assert touched.tolist() == common.tolist()


class Ready(Exception):
    """Stage 2 would begin."""


def before_stage2(places: Path, trial: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, dict[str, Tensor]]:
    """The network as stage 2 gets it, and a batch of training documents."""
    found: list[Any] = []

    def stop(network: Any, prepared: Any, config: Any, of_run: Any) -> None:
        found.extend([network, next(iter(prepared.split("train", 32)))])
        raise Ready

    for module in (stage2, training_run):
        monkeypatch.setattr(module, "run_stage2", stop)
    wide = {"network_config__num_heads": 1, "network_config__hidden_size": 64}
    config = made_config(places, **wide, stage1__epochs=1, result_dir=str(places / "ready"))
    with getattr(trials, trial)(), pytest.raises(Ready):
        run(config)
    return found[0].eval(), found[1]


def all_labels(network: Any, batch: dict[str, Tensor]) -> Tensor:
    return torch.arange(network.num_labels).expand(len(batch["text"]), -1)


def test_the_planted_value_is_attended_relevance(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, batch = before_stage2(places, "planted_value", monkeypatch)
    with torch.no_grad():
        network.value_strength.copy_(torch.linspace(-1, 2, network.num_labels))
        labels, hidden = all_labels(network, batch), network.encode(batch)
        attended = network.attention(hidden, labels, with_prior=True) * hidden.prior.of_labels(labels)
        found = network.logits(hidden)
        torch.testing.assert_close(
            found - type(network).logits(network, hidden), network.value_strength * attended.sum(dim=2)
        )
        few = torch.stack([torch.randperm(network.num_labels)[:4] for _ in labels])
        torch.testing.assert_close(network.selected_logits(hidden, few), found.gather(1, few), rtol=1e-4, atol=1e-5)


def test_smoothing_of_positives_leaves_negatives_alone() -> None:
    logits, target = torch.tensor([0.3, -1.0]), torch.tensor([1.0, 0.0])
    plain = losses.focal_loss(logits, target, 0.0, 0.0)
    opposite = losses.focal_loss(logits, 1 - target, 0.0, 0.0)
    with trials.smoothed_positives():
        found = losses.focal_loss(logits, target, 0.0, 0.1)
    torch.testing.assert_close(found, torch.stack([0.9 * plain[0] + 0.1 * opposite[0], plain[1]]))


def test_on_validation_no_test_document_is_looked_at() -> None:
    for experiment in ("stage1_choices", "with_scores", "stage2_choices", "screening"):
        runs, _ = plan(experiment, "demo", [1])
        assert {planned.flags["test_file"] for planned in runs} == {"demo:valid"}
        assert {planned.trial for planned in runs} - {None} <= set(TRIALS)
        with pytest.raises(ConfigError, match="no file of them"):
            plan(experiment, "bc5cdr", [1])
