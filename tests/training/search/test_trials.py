"""The table of trials, the choice of the best, and what its second training is configured with; no training here."""

from __future__ import annotations

import csv
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plant_plugin.config import load_config
from plant_plugin.errors import PlantError
from plant_plugin.training.search import plan as plan_module
from plant_plugin.training.search import search as search_module
from plant_plugin.training.search import trial as trial_module
from plant_plugin.training.search.plan import SearchPlan, plan_search
from plant_plugin.training.search.search import Trials, retrained, search
from plant_plugin.training.search.trial import TrialFailed, best_epoch, read_outcome, read_values, run_trial

Make = Callable[..., Path]
DRAWN = {"network_config.hidden_size": 1, "stage1.k": 0}


@pytest.fixture
def plan(search_file: Make, monkeypatch: pytest.MonkeyPatch) -> SearchPlan:
    monkeypatch.setattr(plan_module, "find_spec", lambda name: object())
    return plan_search(search_file())


def leave(folder: Path, values: list[Any], **outcome: Any) -> None:
    """What a trial leaves behind."""
    folder.mkdir(parents=True)
    content: dict[str, Any] = {"val": [{"P@1": 0.5, "nDCG@5": value} for value in values]}
    content["stage1"] = [{"attention-nDCG@5": value} for value in (0.2, 0.4, 0.3)]
    (folder / "logs.json").write_text(json.dumps(content))
    (folder / "model.safetensors").write_text("weights")
    (folder / "stage2").mkdir()
    if outcome:
        (folder / "outcome.json").write_text(json.dumps(outcome))


def test_the_best_epoch() -> None:
    assert best_epoch([0.1, 0.3, 0.3, 0.2], "max") == 1
    assert best_epoch([0.1, 0.3, 0.05], "min") == 2
    assert best_epoch([float("nan"), 0.3], "max") == 1
    assert best_epoch([float("nan")], "max") is None
    assert best_epoch([], "min") is None


def test_values_are_read_whatever_the_metric_is_spelled(tmp_path: Path) -> None:
    assert read_values(tmp_path, "nDCG@5") == []
    leave(tmp_path / "one", [0.1, 0.2])
    assert read_values(tmp_path / "one", "NDCG@5") == [0.1, 0.2]
    (tmp_path / "one" / "logs.json").write_text('{"val": [{"nDCG')  # LibMultiLabel is just writing it
    assert read_values(tmp_path / "one", "nDCG@5") == []


def test_the_tables(tmp_path: Path) -> None:
    trials = Trials(tmp_path, "nDCG@5", "max")
    trials.write()
    for name, values, outcome in (
        ("0003", [0.4, 0.5], {"finished": True}),
        ("0001", [0.5, 0.4], {"finished": True}),
        ("0002", [0.9], {"failure": "memory does not suffice"}),
        ("0004", [0.3], {}),
        ("0005", [], {}),
    ):
        leave(tmp_path / "trials" / name, values, **outcome)
        trials.add(name, {"learning_rate": 0.01, "network_config.filter_sizes": [2, 4]})
    assert [trial.status for trial in trials.ended] == ["finished", "failed", "finished", "stopped", "failed"]
    best = trials.best
    assert best is not None
    assert (best.name, best.value, best.epoch, best.epochs) == ("0001", 0.5, 1, 2)  # of equals the first
    kept = [path.parent.name for path in sorted(tmp_path.glob("trials/*/model.safetensors"))]
    assert kept == ["0001"]
    assert not (tmp_path / "trials" / "0003" / "stage2").exists()
    assert (tmp_path / "trials" / "0003" / "logs.json").is_file()
    table = json.loads((tmp_path / "trials.json").read_text())
    assert (table["val_metric"], table["mode"], table["best"]) == ("nDCG@5", "max", "0001")
    assert table["trials"][1] == {
        "trial": "0002", "status": "failed", "nDCG@5": 0.9, "epoch": 1, "epochs": 1, "learning_rate": 0.01,
        "network_config.filter_sizes": [2, 4], "reason": "memory does not suffice",
    }  # fmt: skip
    with open(tmp_path / "trials.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["trial"] for row in rows] == ["0001", "0002", "0003", "0004", "0005"]
    assert rows[0]["nDCG@5"] == "0.5"
    assert rows[4]["reason"] == "Ray ended it before its first epoch"


def test_the_lowest_loss_is_the_best(tmp_path: Path) -> None:
    trials = Trials(tmp_path, "nDCG@5", "min")
    for name, value in (("0001", 0.5), ("0002", 0.2)):
        leave(tmp_path / "trials" / name, [value], finished=True)
        trials.add(name, {})
    assert trials.best is not None
    assert trials.best.name == "0002"


@pytest.mark.parametrize("merged", [True, False])
def test_the_second_training(plan: SearchPlan, tmp_path: Path, merged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs of both stages come from the trial; what was chosen on validation documents too, if it cannot be anew."""
    path = tmp_path / "some_tune.yml"
    flags = {"planted_scores.model": "ridge", "silent": True, "no_merge_train_val": not merged}
    flags |= {"shortlist.size": "auto"}
    weights = {"adjustment": 0.02, "weight": 1.5}
    plan = plan_search(path, flags)
    folder = tmp_path / "runs" / "trials" / "0001"
    leave(folder, [0.1, 0.2, 0.15], finished=True)
    np.savez(folder / "planted_scores.npz", **weights, linear_weight=1.0, sentence_weight=0.0)  # as every model has
    monkeypatch.setattr("plant_plugin.model.folder.read_content", lambda folder, trust_code: {"shortlist": 7})
    trial_module.write_configuration(folder / "config.yml", plan.configuration(plan.decoded(DRAWN)))
    best = Trials(tmp_path / "runs", "nDCG@5", "max").add("0001", plan.decoded(DRAWN))
    values = retrained(plan, best, folder)
    assert values["merge_train_val"] is merged
    assert values["network_config"]["hidden_size"] == 16
    assert values["stage1"] == {"k": 5, "epochs": 2}
    assert values["stage2"] == {"epochs": 2}
    assert values["planted_scores"] == {"model": "ridge", **(weights if merged else {})}
    assert values["shortlist"] == {"size": 7 if merged else "auto"}
    load_config(None, {**values, "cpu": True})
    assert "silent" not in values


def test_a_baseline_trains_as_many_epochs_as_its_best(search_file: Make, plan: SearchPlan, tmp_path: Path) -> None:
    network = {"filter_sizes": ["grid_search", [[2], [4]]]}
    path = search_file(model_name="KimCNN", embed_file="glove.6B.50d", stage1=None, network_config=network, epochs=9)
    plan = plan_search(path, {"monitor_metrics": ["nDCG@5"]})
    leave(tmp_path / "trials" / "0001", [0.1, 0.3, 0.2])
    best = Trials(tmp_path, "nDCG@5", "max").add("0001", {"network_config.filter_sizes": [4]})
    values = retrained(plan, best, tmp_path / "trials" / "0001")
    assert (values["epochs"], values["merge_train_val"], values["network_config"]) == (2, True, {"filter_sizes": [4]})
    kept = retrained(plan_search(path, {"monitor_metrics": ["nDCG@5"], "no_retrain": True}), best, tmp_path)
    assert (kept["epochs"], kept["merge_train_val"]) == (9, False)


def test_a_trial_that_fails_is_named_with_its_reason(plan: SearchPlan, tmp_path: Path) -> None:
    """The real process; its training file has gone."""
    folder = tmp_path / "0001"
    folder.mkdir()
    (tmp_path / "train.txt").unlink()
    trial_module.write_configuration(folder / "config.yml", plan.configuration(plan.decoded(DRAWN)))
    with pytest.raises(TrialFailed, match=r"training_file: .*train.txt.* no such file"):
        list(run_trial(folder, "nDCG@5", "max", 9, working_folder=str(tmp_path), module_path=sys.path))
    assert "no such file" in read_outcome(folder)["failure"]
    assert "How to fix it" in (folder / "trial.log").read_text()


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "memory runs out"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", f"ended by signal {int(signal.SIGTERM)}"),
        ("import sys; sys.exit(3)", "ended with exit code 3"),
    ],
)
def test_a_trial_that_leaves_no_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    start = trial_module.subprocess.Popen
    monkeypatch.setattr(trial_module.subprocess, "Popen", lambda command, **options: start([command[0], "-c", program]))
    monkeypatch.setattr(trial_module, "LOOK_SECONDS", 0.01)
    with pytest.raises(TrialFailed, match=reason):
        list(run_trial(tmp_path, "nDCG@5", "max", 9, working_folder=".", module_path=()))
    assert reason in read_outcome(tmp_path)["failure"]


def test_a_foreign_error_is_named_by_its_place_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_module, "load_config", lambda path: {}["words of a note"])
    monkeypatch.setattr(trial_module, "_end_with_parent", lambda: None)
    assert trial_module.main(str(tmp_path)) == 1
    failure = read_outcome(tmp_path)["failure"]
    assert failure.startswith("KeyError in test_trials.py, line")
    assert "note" not in failure


def test_a_stopped_trial_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(tmp_path / "0001", [0.1, 0.2])
    started = []

    def start(command: list[str], **options: Any) -> Any:
        started.append(popen([command[0], "-c", "import time; time.sleep(60)"], **options))
        return started[0]

    popen = trial_module.subprocess.Popen
    monkeypatch.setattr(trial_module.subprocess, "Popen", start)
    values = run_trial(tmp_path / "0001", "nDCG@5", "max", 9, working_folder=".", module_path=())
    assert (next(values), next(values)) == (0.1, 0.2)
    values.close()
    assert started[0].returncode == -signal.SIGKILL
    assert read_outcome(tmp_path / "0001") == {}


def test_of_the_last_epoch_is_told_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that stops a trial at its last epoch must not stop the saving of its model."""
    leave(tmp_path / "0001", [0.1, 0.2], finished=True)
    start = trial_module.subprocess.Popen
    monkeypatch.setattr(
        trial_module.subprocess, "Popen", lambda command, **options: start([command[0], "-c", "input()"], **options)
    )
    values = run_trial(tmp_path / "0001", "nDCG@5", "max", 2, working_folder=".", module_path=())
    assert next(values) == 0.1
    process = values.gi_frame.f_locals["process"]
    assert process.poll() is None
    process.stdin.close()  # now it ends
    assert list(values) == [0.2]
    assert process.poll() is not None


def test_a_search_without_a_good_trial(plan: SearchPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    def run_trials(plan: SearchPlan, folder: Path, say: Any, ended: Any) -> None:
        leave(folder / "0001", [], failure="no memory")
        ended("0001", DRAWN)

    tuning = type("tuning", (), {"run_trials": staticmethod(run_trials)})
    monkeypatch.setitem(search_module.sys.modules, "plant_plugin.training.search.tuning", tuning)
    with pytest.raises(PlantError, match=r"none of 1 trials has a value of nDCG@5\s+trial 0001: no memory"):
        search(plan, silent=True)
    assert json.loads((plan.base.checkpoint_dir / "trials.json").read_text())["best"] is None


def test_ray_that_cannot_be_imported(plan: SearchPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(search_module.sys.modules, "plant_plugin.training.search.tuning", None)
    with pytest.raises(PlantError, match=r"pip install 'plant-plugin\[search\]'"):
        search(plan)
