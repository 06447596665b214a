"""The strategies over every network of ours, and over one that a user wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from plant_plugin.config import Config, registry
from plant_plugin.errors import CheckpointError, ConfigError, Interrupted
from plant_plugin.model.trained import load_model
from plant_plugin.networks.construct import construct
from plant_plugin.networks.plantable import Hidden
from plant_plugin.report.metric_log import MetricLog
from plant_plugin.report.run import Run
from plant_plugin.training import stage2
from plant_plugin.training.build import build_network, plant_relevance
from plant_plugin.training.inputs import Inputs, prepare
from plant_plugin.training.run import run
from plant_plugin.training.stage1 import run_stage1

Made = Callable[..., Config]
OWN = "own_network:OwnNetwork"
PRIOR = {"planted_prior": "additive"}
SMALL: dict[str, dict[str, Any]] = {
    "LAAT": {"hidden_size": 16, "projection_size": 8, "embed_dim": 16, **PRIOR},
    "MultiResCNN": {"filter_sizes": [1, 3], "num_filter_per_size": 8, "embed_dim": 16, **PRIOR},
    "PlantedCAML": {"filter_sizes": [3], "num_filter_per_size": 16, "embed_dim": 16, **PRIOR},
    "PlantedBiGRULWAN": {"rnn_dim": 16, "embed_dim": 16, **PRIOR},
    OWN: {"sharpness": 0.5, "prior": True},
}
WINDOWED = ["PLMICD", "PLMCA", "PlantedPLMCA"]
SHORT = {"stage1__epochs": 1, "stage2__epochs": 1}


def network_of(name: str, tiny_language_model: Path) -> dict[str, Any]:
    return SMALL[name] if name in SMALL else {"lm_weight": str(tiny_language_model), "lm_window": 16, **PRIOR}


def test_every_network_is_tried() -> None:
    ours = {name for name, entry in registry.entries("networks").items() if entry.ours}
    assert {*SMALL, *WINDOWED, "PLANT"} == {*ours, OWN} - {"PLANTL2R"}  # tests/l2r/test_ranker.py


@pytest.mark.parametrize(
    "name",
    ["LAAT", *(pytest.param(name, marks=pytest.mark.integration) for name in [*SMALL, *WINDOWED] if name != "LAAT")],
)
def test_both_strategies_checkpoint_and_predictions(
    made: Made, tmp_path: Path, tiny_language_model: Path, name: str
) -> None:
    network = network_of(name, tiny_language_model)
    config = made(model_name=name, network_config=network, **SHORT, save_k_predictions=3)
    result = run(config)
    assert (result["model"], result["strategy"]) == (name, "plant")
    assert {"relevance", "stage1", "stage2"} <= result["time_s"].keys()
    lines = Path(config.predict_out_path).read_text().splitlines()
    assert len(lines) == 40
    assert all(len(line.split()) == 3 for line in lines)

    again = run(made(model_name=name, network_config=network, eval=True, checkpoint_path=str(config.checkpoint_dir)))
    for metric, value in result["metrics"].items():
        assert again["metrics"][metric] == pytest.approx(value, abs=1e-6), metric

    single = run(
        made(model_name=name, network_config=network, **SHORT, strategy="end_to_end", result_dir=str(tmp_path / "one"))
    )
    assert single["strategy"] == "end_to_end"
    assert "stage1" not in single["time_s"]


@pytest.mark.integration
@pytest.mark.parametrize("name", [*SMALL, *WINDOWED])
def test_interrupted_resumes_to_the_same_weights(
    made: Made, tmp_path: Path, tiny_language_model: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    network = network_of(name, tiny_language_model)
    given = {"model_name": name, "network_config": network, "stage1__epochs": 1, "stage2__epochs": 2}
    uncut = made(**given, result_dir=str(tmp_path / "whole"))
    run(uncut)
    step = stage2.Stage2.training_step

    def stop(self: Any, batch: Any, batch_idx: int) -> Any:
        if self.current_epoch == 1 and batch_idx == 2:
            raise KeyboardInterrupt
        return step(self, batch, batch_idx)

    monkeypatch.setattr(stage2.Stage2, "training_step", stop)
    cut = made(**given, result_dir=str(tmp_path / "cut"))
    with pytest.raises(Interrupted):
        run(cut)
    monkeypatch.undo()
    run(made(**given, resume=str(cut.checkpoint_dir)))
    one, other = (
        load_model(Path(config.checkpoint_dir), trust_code=name == OWN).network.state_dict() for config in (uncut, cut)
    )
    for key, tensor in one.items():
        torch.testing.assert_close(tensor, other[key], atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("name", ["LAAT", OWN])
def test_stage_1_teaches_the_attention_and_leaves_the_readout(made: Made, tmp_path: Path, name: str) -> None:
    config = made(
        model_name=name,
        network_config=SMALL[name],
        stage1__epochs=12,
        stage1__patience=12,
        stage1__labels="all",
        stage1__pairs="top_vs_all",
        stage1__learning_rate=0.03,
    )
    record = Run(tmp_path / "run", silent=True)
    documents = prepare(config, record)
    network = build_network(documents, config, record)
    relevance = plant_relevance(network, documents, config, record, planted=True)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    batch = next(iter(Inputs(documents).batches("val", 30)))

    def share_of_signs() -> float:
        """Attention that label 0 gives to its own word, in the documents that hold it."""
        own = batch["text"] == next(t for t in range(documents.tokens.size) if documents.tokens.token(t) == "sign0x")
        with torch.no_grad():
            hidden: Hidden = network.eval().encode(batch)
            label = torch.tensor([[documents.corpus.label_names.index("L0")]]).expand(len(own), 1)
            attention = network.attention(hidden, label)[:, 0]
        return float((attention * own).sum(dim=1)[own.any(dim=1)].mean())

    start = share_of_signs()
    record.metrics = MetricLog(record.folder)
    record.config_hash = config.hash()
    run_stage1(network, Inputs(documents, relevance), config, record)
    assert share_of_signs() > 2 * start
    readout = "head.output.weight" if name == "LAAT" else "readout.weight"
    planted = "head.query.weight" if name == "LAAT" else "queries"
    after = network.state_dict()
    torch.testing.assert_close(after[readout], before[readout])
    assert not torch.allclose(after[planted], before[planted])


@pytest.mark.integration
@pytest.mark.parametrize("name", [*SMALL, *WINDOWED])
@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16", "stage1__loss": "mse"},
        {"stage1__score": "probability", "stage2__hard_negatives": None, "network_config__planted_prior": "none"},
    ],
    ids=str,
)
def test_other_options_run_too(made: Made, tiny_language_model: Path, name: str, changes: dict[str, Any]) -> None:
    network = network_of(name, tiny_language_model)
    if name == OWN:
        changes = {key: value for key, value in changes.items() if key != "network_config__planted_prior"}
    result = run(made(model_name=name, network_config=network, **SHORT, limit_train_batches=2, **changes))
    assert 0 <= result["metrics"]["P@1"] <= 1


def test_what_does_not_show_its_attention_is_refused() -> None:
    with pytest.raises(ConfigError, match="PlantableNetwork"):
        construct("torch.nn:Linear", 3, None, {})
    with pytest.raises(ConfigError, match="PlantableNetwork"):
        construct("CAML", 3, None, {})


def test_a_checkpoint_of_another_network_is_refused(made: Made) -> None:
    config = made(model_name=OWN, network_config=SMALL[OWN], **SHORT)
    run(config)
    with pytest.raises(CheckpointError, match="the configuration names LAAT"):
        run(made(model_name="LAAT", network_config={}, eval=True, checkpoint_path=str(config.checkpoint_dir)))


def test_a_prior_that_the_attention_does_not_show_is_said() -> None:
    network = construct(OWN, 3, torch.randn(9, 4), {"prior": True})
    hidden = network.encode({"text": torch.tensor([[1, 2]]), "length": torch.tensor([2])})
    with pytest.raises(ValueError, match="has to define `attention`"):
        network.attention(hidden, torch.tensor([[0]]), with_prior=True)
