"""Trials and their table by units; whole searches on Ray, also of each ``*_tune.yml`` of a LibMultiLabel checkout.

    LIBMULTILABEL_CHECKOUT=/path/of/the/checkout pytest -m integration tests/training/search

LibMultiLabel's files are changed as ``tests/host/test_example_configs.py`` changes them; every grid and choice keeps
its first value, but for that of the learning rate, which keeps two.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

pytest.importorskip("ray", reason="needs the extra `search`")

from made_up_task import write_splits
from test_example_configs import make_up, shrink

from plant_plugin.config import load_config
from plant_plugin.errors import PlantError
from plant_plugin.relevance.planted_scores import read_weights
from plant_plugin.report.result import read_result
from plant_plugin.training.run import run as run_once
from plant_plugin.training.search import search as search_module
from plant_plugin.training.search.plan import SearchPlan, plan_search
from plant_plugin.training.search.search import Table, read_values, search, train, write_yaml

Make = Callable[..., Path]
FILES = sorted(Path(os.environ.get("LIBMULTILABEL_CHECKOUT", "nowhere")).glob("example_config/*/*_tune.yml"))
DRAWN = {"network_config.hidden_size": 16, "stage1.k": 5}


@pytest.fixture
def plan(search_file: Make) -> SearchPlan:
    return plan_search(search_file())


class RayTrial(SimpleNamespace):
    """The attributes of Ray's trial that a table reads."""

    def __str__(self) -> str:
        return str(self.name)


def ended_trial(folder: Path, name: str, metric: float | None, epochs: int = 2) -> Any:
    """Write the files of a trial and return it as Ray hands it to a callback."""
    trial_folder = folder / "trials" / name
    (trial_folder / "stage2").mkdir(parents=True)
    for file in ("config.yml", "logs.json", "trial.log", "model.safetensors"):
        (trial_folder / file).write_text("")
    result = {} if metric is None else {"nDCG@5": metric, "training_iteration": epochs}
    return RayTrial(name=name, config=DRAWN, last_result=result)


def test_the_table(plan: SearchPlan, tmp_path: Path) -> None:
    lines: list[str] = []
    table = Table(plan, tmp_path, lines.append)
    failed = ended_trial(tmp_path, "0002", 0.9)
    (tmp_path / "trials" / "0002" / "failure.txt").write_text("memory does not suffice")
    table.on_trial_complete(1, [], ended_trial(tmp_path, "0003", 0.5))
    table.on_trial_error(2, [], failed)
    table.on_trial_error(3, [], ended_trial(tmp_path, "0004", None))
    table.on_trial_complete(4, [], ended_trial(tmp_path, "0001", 0.5, epochs=3))
    table.on_trial_complete(5, [], ended_trial(tmp_path, "0005", 0.4))
    with open(tmp_path / "trials.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["trial"] for row in rows] == ["0001", "0003", "0005", "0002", "0004"]
    assert rows[0] == {
        "trial": "0001", "nDCG@5": "0.5", "training_iteration": "3", "network_config.hidden_size": "16",
        "stage1.k": "5", "reason": "",
    }  # fmt: skip
    assert rows[3]["reason"] == "memory does not suffice"
    assert "memory runs out" in rows[4]["reason"]
    assert "0002" in lines[1]
    assert "memory does not suffice" in lines[1]
    assert [path.parent.name for path in tmp_path.glob("trials/*/model.safetensors")] == ["0001"]
    assert sorted(path.name for path in (tmp_path / "trials" / "0003").iterdir()) == [
        "config.yml", "logs.json", "trial.log",
    ]  # fmt: skip


@pytest.mark.parametrize("raw_csv", [False, True])
def test_no_cell_of_the_table_is_a_formula(plan: SearchPlan, tmp_path: Path, raw_csv: bool) -> None:
    table = Table(plan, tmp_path, print, raw_csv)
    failed = ended_trial(tmp_path, "0001", None)
    (tmp_path / "trials" / "0001" / "failure.txt").write_text("=HYPERLINK(1)")
    table.on_trial_error(1, [], failed)
    with open(tmp_path / "trials.csv") as stream:
        [row] = csv.DictReader(stream)
    assert row["reason"] == ("=HYPERLINK(1)" if raw_csv else "'=HYPERLINK(1)")


def test_the_lowest_loss_is_the_best(search_file: Make, tmp_path: Path) -> None:
    table = Table(plan_search(search_file(val_metric="Loss")), tmp_path, print)
    for name, loss in (("0001", 0.5), ("0002", 0.2)):
        trial = ended_trial(tmp_path, name, None)
        trial.last_result = {"Loss": loss}
        table.on_trial_complete(1, [], trial)
    assert [row["trial"] for row in table.rows] == ["0002", "0001"]


def test_values_are_read_whatever_the_metric_is_spelled(tmp_path: Path) -> None:
    assert read_values(tmp_path, "nDCG@5") == []
    content = {"val": [{"nDCG@5": 0.1}, {"nDCG@5": float("nan")}, {"P@1": 1.0}, {"nDCG@5": 0.2}]}
    (tmp_path / "logs.json").write_text(json.dumps(content))
    assert read_values(tmp_path, "NDCG@5") == [0.1, 0.2]
    (tmp_path / "logs.json").write_text('{"val": [{"nDCG')  # LibMultiLabel is just writing it
    assert read_values(tmp_path, "nDCG@5") == []


def test_a_trial_that_fails_leaves_its_reason(plan: SearchPlan, tmp_path: Path) -> None:
    folder = tmp_path / "0001"
    folder.mkdir()
    write_yaml(folder / "config.yml", plan.configuration(DRAWN))
    (tmp_path / "train.txt").unlink()
    with pytest.raises(RuntimeError, match=r"training_file: .*train.txt.* no such file"):
        train(folder)
    assert "no such file" in (folder / "failure.txt").read_text()


def test_a_foreign_error_is_named_without_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "load_config", lambda path: {}["words of a note"])
    with pytest.raises(RuntimeError, match=r"KeyError, see trial\.log"):
        train(tmp_path)
    assert "note" not in (tmp_path / "failure.txt").read_text()


def test_a_training_without_a_value_fails(plan: SearchPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config, tests: {})
    write_yaml(tmp_path / "config.yml", plan.configuration(DRAWN))
    with pytest.raises(RuntimeError, match="no epoch has a value of nDCG@5"):
        train(tmp_path)


def test_a_search_without_a_good_trial(plan: SearchPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"trial": "0001", "nDCG@5": None, **DRAWN, "reason": "no memory"}]
    monkeypatch.setattr(search_module, "run_trials", lambda plan, folder, say, raw_csv: rows)
    with pytest.raises(PlantError, match=r"no trial has a value of nDCG@5(.|\n)*see trials.csv"):
        search(plan, silent=True)


@pytest.mark.parametrize("options", [{}, {"no_retrain": True}])
def test_the_best_is_trained_again_or_tested(
    search_file: Make, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    plan = plan_search(search_file(cpu=True), options)
    rows = [{"trial": "0002", "nDCG@5": 0.5, **DRAWN, "reason": None}]

    def run_trials(plan: SearchPlan, folder: Path, say: Any, raw_csv: bool) -> list[dict[str, Any]]:
        (folder / "trials" / "0002").mkdir(parents=True)
        return rows

    monkeypatch.setattr(search_module, "run_trials", run_trials)
    monkeypatch.setattr("plant_plugin.training.run.run", lambda config: config)
    config: Any = search(plan, silent=True)
    assert (config.network_config["hidden_size"], config.stage1.k) == (16, 5)
    folder = plan.base.checkpoint_dir.resolve()
    assert config.checkpoint_dir == folder / "best"
    if options:
        assert (config.eval, config.checkpoint_path) == (True, str(folder / "trials" / "0002"))
    else:
        assert (config.eval, config.refit, config.merge_train_val) == (False, "train+val", False)


def run(path: Path, **flags: Any) -> tuple[dict[str, Any], Path, list[dict[str, str]]]:
    """Search, and return the result, the folder and the table."""
    result = search(plan_search(path, flags), silent=True)
    (folder,) = path.parent.glob("runs/*")
    with open(folder / "trials.csv") as stream:
        return result, folder, list(csv.DictReader(stream))


def ours(folder: Path, **changes: Any) -> Path:
    write_splits(folder)
    values = {
        "training_file": "train.txt",
        "val_file": "valid.txt",
        "test_file": "test.txt",
        "data_name": "made",
        "model_name": "PLANT",
        "network_config": {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 16, "hidden_size": 16, "pool_size": 8},
        "stage1": {"k": 10, "labels": 6, "epochs": 2, "pairs": "top_vs_all"},
        "stage2": {"hard_negatives": 5, "epochs": 3},
        "learning_rate": ["grid_search", [0.01, 1e-5]],
        "batch_size": 16,
        "monitor_metrics": ["P@1"],
        "val_metric": "nDCG@5",
        "seed": 1,
        "cpu": True,
        "num_samples": 1,
        "cpu_count": 1,
        "cache_dir": "cache",
        **changes,
    }
    path = folder / "made_tune.yml"
    path.write_text(yaml.safe_dump(values))
    return path


@pytest.mark.integration  # a process for each trial, which imports everything
def test_two_trials_of_which_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of planted scores that the first training chose are those of the second one too."""
    monkeypatch.chdir(tmp_path)  # relative paths start here, in Ray's processes too
    network = {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 16, "hidden_size": 16, "pool_size": 8}
    network["num_heads"] = ["grid_search", [2, 3]]  # 3 heads do not divide 16
    path = ours(tmp_path, network_config=network, learning_rate=0.01, planted_scores={"model": "ridge"})
    result, folder, (first, failed) = run(path)
    assert (first["trial"], first["training_iteration"], first["reason"]) == ("0001", "3", "")
    assert "3 heads do not divide" in failed["reason"]
    logs = json.loads((folder / "trials" / "0001" / "logs.json").read_text())
    assert float(first["nDCG@5"]) == max(epoch["nDCG@5"] for epoch in logs["val"])
    assert "test" not in logs
    assert not (folder / "trials" / "0001" / "result.json").exists()
    assert not (folder / "tune").exists()
    best = yaml.safe_load((folder / "best.yml").read_text())
    assert (best["refit"], best["network_config"]["num_heads"]) == ("train+val", 2)
    assert read_result(folder / "best" / "result.json") == result
    assert result["counts"]["documents"] == 40
    assert read_weights(folder / "best") == read_weights(folder / "trials" / "0001")


@pytest.mark.integration
@pytest.mark.parametrize("algorithm", ["optuna", "bayesopt"])
def test_the_other_algorithms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """With ASHA for one of them, and with the test of the trial's own model for the other."""
    monkeypatch.chdir(tmp_path)
    network = {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 16, "hidden_size": 16, "pool_size": 8}
    network["planted_prior"] = "additive"  # learns this task within an epoch
    rates = ["uniform", 0.001, 0.01]
    path = ours(tmp_path, search_alg=algorithm, strategy="end_to_end", network_config=network, learning_rate=rates)
    asha = "{max_t: 3, grace_period: 1, reduction_factor: 2}"
    result, folder, rows = run(
        path, num_samples="2", **({"scheduler": asha} if algorithm == "optuna" else {"no_retrain": True})
    )
    drawn = [float(row["learning_rate"]) for row in rows]
    assert len(set(drawn)) == 2
    assert all(0.001 <= rate <= 0.01 for rate in drawn)
    assert [row["reason"] for row in rows] == ["", ""]
    assert result["metrics"]["nDCG@5"] > 0.9
    again = run_once(load_config(folder / "best.yml", {"silent": True}))
    assert again["metrics"]["nDCG@5"] == result["metrics"]["nDCG@5"]


def one_value(value: Any) -> Any:
    """The first value of every grid and choice; the rest as it is."""
    if isinstance(value, dict):
        return {name: one_value(inner) for name, inner in value.items()}
    return value[1][0] if isinstance(value, list) and value[0] in ("grid_search", "choice") else value


@pytest.mark.integration
@pytest.mark.skipif(not FILES, reason="set LIBMULTILABEL_CHECKOUT to a checkout of LibMultiLabel")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_searches_of_libmultilabel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = yaml.safe_load(path.read_text())
    small = one_value(values)
    make_up(small)
    changes = {key: value for key, value in small.items() if value != values[key]} | shrink(small)
    changes |= {"num_samples": 1, "learning_rate": ["grid_search", values["learning_rate"][1][:2]]}
    plan = plan_search(path, changes)
    result = search(plan, silent=True)
    (folder,) = Path(plan.base.result_dir).glob("*")
    with open(folder / "trials.csv") as stream:
        assert [row["reason"] for row in csv.DictReader(stream)] == ["", ""]
    assert result["counts"]["documents"] == 32
    assert yaml.safe_load((folder / "best.yml").read_text())["refit"] == "train+val"
