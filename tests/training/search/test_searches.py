"""Whole searches on Ray: two trials of a network of ours; each ``*_tune.yml`` of a LibMultiLabel checkout.

    LIBMULTILABEL_CHECKOUT=/path/of/the/checkout pytest -m integration tests/search

What is changed in LibMultiLabel's files is what ``tests/host/test_example_configs.py`` changes; and every grid and
choice keeps its first value, but for that of the learning rate, which keeps two.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "host"))

from made_up_task import write_splits
from test_example_configs import make_up, shrink

from plant_plugin.report.result import read_result

pytestmark = pytest.mark.integration
FILES = sorted(Path(os.environ.get("LIBMULTILABEL_CHECKOUT", "nowhere")).glob("example_config/*/*_tune.yml"))


@pytest.fixture(scope="module", autouse=True)
def ray() -> Iterator[None]:
    """One Ray for all searches of this file: its start is most of a small search."""
    pytest.importorskip("ray", reason="needs the extra `search`")
    from plant_plugin.training.search import tuning

    with tuning.ray_here():
        yield


def run(path: Path, **flags: Any) -> tuple[dict[str, Any], Path]:
    from plant_plugin.training.search.plan import plan_search
    from plant_plugin.training.search.search import search

    plan = plan_search(path, flags)
    return search(plan, silent=True), plan.base.checkpoint_dir


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


def test_two_trials_and_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # relative paths start here, in Ray's processes too
    network = {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 16, "hidden_size": 16, "pool_size": 8}
    network["num_heads"] = ["grid_search", [2, 3]]  # 3 heads do not divide 16
    result, folder = run(ours(tmp_path, network_config=network), **{"learning_rate": "0.01"})
    table = json.loads((folder / "trials.json").read_text())
    assert [trial["status"] for trial in table["trials"]] == ["finished", "failed"]
    assert table["trials"][1]["reason"]
    assert table["best"] == "0001"
    first = table["trials"][0]
    logs = json.loads((folder / "trials" / "0001" / "logs.json").read_text())
    values = [epoch["nDCG@5"] for epoch in logs["val"]]
    assert (first["nDCG@5"], first["epoch"]) == (max(values), 1 + values.index(max(values)))
    assert "test" not in logs
    assert not (folder / "trials" / "0001" / "result.json").exists()

    best = yaml.safe_load((folder / "best.yml").read_text())
    assert best["merge_train_val"] is True
    assert best["stage2"]["epochs"] == first["epoch"]
    assert best["network_config"]["num_heads"] == 2
    assert read_result(folder / "best" / "result.json") == result
    assert result["counts"]["documents"] == 40

    from plant_plugin.config import load_config
    from plant_plugin.training.run import run as run_once

    again = run_once(load_config(folder / "best.yml", {"silent": True}))
    assert again["metrics"] == result["metrics"]


@pytest.mark.parametrize("algorithm", ["optuna", "bayesopt"])
def test_the_other_algorithms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """With ASHA, and with the test of the trial's own model at the end."""
    monkeypatch.chdir(tmp_path)
    network = {"encoder": "cnn", "filter_sizes": [3], "embed_dim": 16, "hidden_size": 16, "pool_size": 8}
    network["planted_prior"] = "additive"  # learns this task within an epoch
    rates = ["uniform", 0.001, 0.01]
    path = ours(tmp_path, search_alg=algorithm, strategy="end_to_end", network_config=network, learning_rate=rates)
    path = path.rename(tmp_path / f"{algorithm}.yml")
    scheduler = "{max_t: 3, grace_period: 3, reduction_factor: 2}"
    result, folder = run(path, num_samples="2", no_retrain=True, scheduler=scheduler)
    table = json.loads((folder / "trials.json").read_text())
    rates = [trial["learning_rate"] for trial in table["trials"]]
    assert len(set(rates)) == 2
    assert all(0.001 <= rate <= 0.01 for rate in rates)
    assert result["metrics"]["nDCG@5"] > 0.9
    assert len([path for path in folder.glob("trials/*/model.safetensors")]) == 1


def one_value(value: Any) -> Any:
    """The first value of every grid and choice; the rest as it is."""
    if isinstance(value, dict):
        return {name: one_value(inner) for name, inner in value.items()}
    return value[1][0] if isinstance(value, list) and value[0] in ("grid_search", "choice") else value


@pytest.mark.skipif(not FILES, reason="set LIBMULTILABEL_CHECKOUT to a checkout of LibMultiLabel")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_searches_of_libmultilabel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    values = yaml.safe_load(path.read_text())
    small = one_value(values)
    make_up(small)
    changes = {key: value for key, value in small.items() if value != values[key]} | shrink(small)
    changes |= {"num_samples": 1, "learning_rate": ["grid_search", values["learning_rate"][1][:2]]}
    result, folder = run(path, **changes)
    table = json.loads((folder / "trials.json").read_text())
    assert [trial["status"] for trial in table["trials"]] == ["finished", "finished"]
    assert result["counts"]["documents"] == 32
    best = yaml.safe_load((folder / "best.yml").read_text())
    assert (best["epochs"], best["merge_train_val"]) == (1, True)
