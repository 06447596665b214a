"""``refit: train+val``: a second training on both splits, with what the first found on validation documents."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed_runs import same_bytes

from plant_plugin.config import Config
from plant_plugin.data.documents import load_corpus
from plant_plugin.errors import ConfigError, Stopped
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.relevance.planted_scores import read_weights
from plant_plugin.report.metric_log import read_metrics
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.training import promises
from plant_plugin.training.run import run
from plant_plugin.training.stage1 import Stage1
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
# The first of several epochs that are all the same is the best one.
STILL = {"stage2__learning_rate": 1e-12, "stage2__epochs": 3}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.mark.integration
def test_trains_again_on_both_with_what_validation_found(made: Made, tmp_path: Path) -> None:
    scores = {"planted_scores__model": "ridge"}
    plain = made(**STILL, **scores, result_dir=str(tmp_path / "plain"))
    before = run(plain)
    config = made(**STILL, **scores, refit="train+val", batch_size=8)
    assert made(**STILL, **scores, refit="none", batch_size=8).hash() != config.hash()
    config = made(**STILL, **scores, refit="train+val")
    result = run(config)
    first, folder = config.checkpoint_dir / FIRST_PASS, config.checkpoint_dir

    stage1 = [epoch["attention-nDCG@10"] for epoch in read(plain.log_path)["stage1"]]
    assert result["refit"] == {
        "documents": "train+val", "epochs": {"stage1": 1 + stage1.index(max(stage1)), "stage2": 1}
    }  # fmt: skip
    assert result["thresholds"] == before["thresholds"]
    assert read(folder / "thresholds.json") == read(folder / "first_pass" / "thresholds.json")
    assert result["thresholds"].items() <= read(folder / "thresholds.json").items()
    assert result["planted_scores"] == before["planted_scores"] == read_weights(first) == read_weights(folder)
    assert result["hashes"]["train"] == load_corpus(made(merge_train_val=True)).train.hash()
    assert "val" not in result["hashes"]
    assert result["hashes"]["labels"] == before["hashes"]["labels"]
    assert result["hashes"]["config"] == config.hash() != before["hashes"]["config"]
    assert load_per_document(folder / "per_document.npz").num_train == 150
    assert {"stage1", "stage2", "thresholds", "refit_read", "refit_stage1", "refit_stage2", "test"} <= set(
        result["time_s"]
    )
    assert "refit_test" not in result["time_s"]
    assert not (first / "result.json").exists()
    steps = {place.stage: place.step for place, _, _ in read_metrics(first / "metrics.csv")}
    assert steps == {"stage1": 8, "stage2": 12}  # of 120 documents in batches of 30
    logs = read(config.log_path)
    assert set(logs) == {"test", "config"}
    assert logs["config"]["refit"] == "train+val"
    assert logs["config"]["merge_train_val"] is False

    tested = run(made(**STILL, **scores, refit="train+val", eval=True, checkpoint_path=str(folder)))
    assert tested["metrics"] == pytest.approx(result["metrics"], abs=1e-6)
    assert "refit" not in tested


@pytest.mark.integration
def test_the_learning_rate_is_that_of_the_same_epoch(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[list[float]] = []
    step = Stage2.training_step

    def note(self: Any, batch: Any, batch_idx: int) -> Any:
        if self.global_step == 0:
            rates.append([])
        if batch_idx == 0:
            rates[-1].append(self.trainer.optimizers[0].param_groups[0]["lr"])
        return step(self, batch, batch_idx)

    monkeypatch.setattr(Stage2, "training_step", note)
    result = run(made(strategy="end_to_end", stage2__epochs=4, stage2__patience=9, refit="train+val"))
    (epochs,) = result["refit"]["epochs"].values()
    first, second = rates
    assert len(first) == 4
    assert second == pytest.approx(first[:epochs])


def test_without_a_network(made: Made) -> None:
    result = run(made(strategy="planted_scores", planted_scores__model="ridge", refit="train+val"))
    assert result["refit"] == {"documents": "train+val", "epochs": {}}
    assert result["metrics"]["P@1"] > 0.8


@pytest.mark.integration
def test_stopped_in_either_training_it_goes_on_to_the_same_bytes(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"checkpoint_every": "2", "refit": "train+val", "planted_scores__model": "ridge",
             "stage1__epochs": 1, "stage2__epochs": 1}  # fmt: skip
    whole = made(**given, result_dir=str(tmp_path / "whole"))
    run(whole)
    config = made(**given, result_dir=str(tmp_path / "cut"))

    def stop_in(stage: Any, documents: int) -> Callable[..., Any]:
        step = stage.training_step

        def stop(self: Any, batch: Any, batch_idx: int) -> Any:
            if batch_idx == 3 and len(self.train_batches) * 30 == documents:
                os.kill(os.getpid(), signal.SIGTERM)
            return step(self, batch, batch_idx)

        return stop

    def stop_at_once(*args: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("still running")

    for owner, name, replacement in (
        (Stage2, "training_step", stop_in(Stage2, 120)),
        (Stage1, "training_step", stop_in(Stage1, 150)),
        (promises, "report", stop_at_once),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, replacement)
            with pytest.raises(Stopped, match=rf"--resume {config.checkpoint_dir}$"):
                run(config)
        config = made(**given, resume=str(config.checkpoint_dir))
    result = run(config)
    same_bytes(whole.checkpoint_dir, config.checkpoint_dir)
    stages = {name: seconds for name, seconds in result["time_s"].items() if "stage" in name}
    assert set(stages) == {"stage1", "stage2", "refit_stage1", "refit_stage2"}
    assert result["time_s"]["total"] > sum(stages.values())
    assert run(config) == result


def test_nothing_is_left_of_a_run_whose_first_training_cannot_start(made: Made) -> None:
    config = made(refit="train+val", monitor_metrics=["P@50"])
    with pytest.raises(ConfigError, match="P@50"):
        run(config)
    assert not config.checkpoint_dir.exists()
