"""A search is planned and its mistakes are named before Ray is started or data are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra `search`")

from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.training.search import plan as plan_module
from plant_plugin.training.search.plan import NAMES, plan_search

Make = Callable[..., Path]


def problems_of(path: Path, **overrides: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        plan_search(path, overrides)
    return {re.split(r"[: ]", str(problem.where))[0]: problem.message for problem in caught.value.problems}


def test_a_plan(search_file: Make) -> None:
    plan = plan_search(search_file())
    assert list(plan.space) == ["network_config.hidden_size", "stage1.k"]
    assert plan.space["network_config.hidden_size"] == {"grid_search": [8, 16]}
    assert (plan.mode, plan.options.num_samples, plan.options.cpu_count, plan.options.gpu_count) == ("max", 3, 4, 1.0)
    values = plan.configuration({"network_config.hidden_size": 16, "stage1.k": 5})
    assert values["network_config"] == {"encoder": "cnn", "hidden_size": 16}
    assert values["stage1"] == {"k": 5, "epochs": 3}
    assert not {"num_samples", "scheduler"} & values.keys()
    assert plan.configuration({"stage1.k": 10})["stage1"]["k"] == 10
    assert plan.values["stage1"]["k"] == 5


@pytest.mark.parametrize(
    ("flags", "refit"), [({}, "train+val"), ({"no_merge_train_val": True}, "none"), ({"no_retrain": True}, "none")]
)
def test_the_second_training_reads_validation_documents_too(
    search_file: Make, flags: dict[str, Any], refit: str
) -> None:
    plan = plan_search(search_file(), flags)
    assert (plan.values["merge_train_val"], plan.values["refit"], plan.base.refit) == (False, refit, refit)


def test_the_loss_is_to_be_low(search_file: Make) -> None:
    assert plan_search(search_file(val_metric="Loss")).mode == "min"


def test_flags_beat_the_file(search_file: Make) -> None:
    flags = {
        "num_samples": "2",
        "scheduler": "{max_t: 4, grace_period: 2}",
        "learning_rate": "['loguniform', 1e-4, 1e-2]",
        "network_config.hidden_size": "12",
        "stage1.k": "['randint', 5, 9]",
        "stage2.gamma": "['uniform', 0, 2]",
    }
    plan = plan_search(search_file(), flags)
    assert plan.space.keys() == {"stage1.k", "learning_rate", "stage2.gamma"}
    assert plan.options.num_samples == 2
    assert plan.options.scheduler is not None
    assert (plan.options.scheduler["max_t"], plan.options.scheduler["grace_period"]) == (4, 2)
    assert plan.base.network_config["hidden_size"] == 12


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["grid_serch", [1, 2]], "has to be a number"),
        (["choice", 0.1], "a list of values has to follow"),
        (["grid_search", []], "a list of values has to follow"),
        (["choice"], "a list of values has to follow"),
        (["uniform", 0.1], "'uniform': .*argument"),
        (["uniform", "a", 0.1], "'uniform': "),
        (["uniform", 0.2, 0.1], "low has to be below high"),
        (["uniform", 0.1, float("inf")], "upper bound"),
        (["loguniform", 0, 0.1], "lower bound"),
        (["quniform", 0.1, 0.2, 0], "'quniform': "),
        (["quniform", 0.1, 0.25, 0.1], "divisible"),
    ],
)
def test_a_malformed_expression_is_named_with_its_line(search_file: Make, value: list[Any], message: str) -> None:
    path = search_file(learning_rate=value)
    with pytest.raises(ConfigError, match=message) as caught:
        plan_search(path)
    (problem,) = caught.value.problems
    line = 1 + path.read_text().splitlines().index("learning_rate:")
    assert str(problem.where) == f"learning_rate (some_tune.yml, line {line})"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": ["choice", [0.1, -0.1]]}, "learning_rate.* has to be above 0, not -0.1"),
        ({"weight_decay": ["uniform", -1, 1]}, "weight_decay.* has to be at least 0"),
        ({"batch_size": ["randint", 0, 4]}, "batch_size.* has to be at least 1"),
        ({"stage2": {"gama": ["uniform", 0, 1]}}, "stage2.gama.* there is no such key"),
        (
            {"network_config": {"encoder": ["choice", ["cnn", "bigru"]], "heads": ["choice", [1, 2]]}},
            "no such argument",
        ),
        ({"data_format": ["choice", ["txt", "svm"]]}, "cannot be compared"),
        ({"planted_scores": {"model": "ridge", "top": ["choice", [10, 20]]}}, "cannot be compared"),
        ({"search_alg": "random"}, "search_alg.* has no choice 'random'"),
        ({"search_alg": "optuna"}, "optuna knows no grid_search"),
        ({"search_alg": "bayesopt"}, "bayesopt knows no choice"),
        ({"num_samples": 0}, "num_samples.* has to be at least 1"),
        ({"cpu_count": "few"}, "cpu_count.* has to be a whole number"),
        ({"gpu_count": -1}, "gpu_count.* has to be at least 0"),
        ({"batch_size": ["uniform", 1.5, 9]}, "batch_size.* has to be a whole number, not 1.5"),
        ({"num_sample": 2}, "num_sample .*there is no such key"),
        ({"no_retrain": True, "scheduler": {"max_t": 3}}, "a trial that the scheduler stops has no model"),
        ({"scheduler": 3}, "scheduler.* has to be"),
        ({"scheduler": {"max_t": 3, "grace_period": 5}}, "at most max_t, 3"),
        ({"scheduler": {"maxt": 3}}, "ASHA has no such argument\n.*did you mean max_t"),
        ({"scheduler": {"reduction_factor": 1}}, "has to be above 1"),
        ({"scheduler": {"time_attr": "epochs"}}, "has no choice 'epochs'"),
        ({"val_file": None, "val_size": 0}, "there are no validation documents"),
        (
            {"linear": True, "network_config": None, "stage1": None, "seed": ["choice", [1, 2]]},
            "a search is for networks|does not read it",
        ),
        ({"choose": True}, "choose.* each trial would choose anew"),
        ({"training_file": "nowhere.txt"}, "training_file: nowhere.txt.* no such file"),
        ({"network_config": {"encoder": "cnn"}, "stage1": {"k": 5}}, "there is nothing to search"),
    ],
    ids=str,
)
def test_mistakes_are_named(search_file: Make, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.compile(message)):
        plan_search(search_file(**changes))


def test_all_problems_of_expressions_are_named_at_once(search_file: Make) -> None:
    path = search_file(data_format=["choice", ["txt", "svm"]], learning_rate=["loguniform", 0, 1], search_alg="random")
    assert problems_of(path).keys() == {"data_format", "learning_rate", "search_alg"}
    done = CliRunner().invoke(plant, ["search", str(path)])
    assert done.exit_code == 2
    assert "some_tune.yml: 3 problems" in done.output
    assert not (path.parent / "runs").exists()


def test_a_package_that_is_missing_is_named_with_its_extra(search_file: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plan_module.PACKAGES, "optuna", "no_such_package")
    path = search_file(search_alg="optuna", network_config={"encoder": "cnn", "hidden_size": ["choice", [8, 16]]})
    with pytest.raises(MissingExtraError, match=r"no_such_package.*\n.*plant-plugin\[search\]"):
        plan_search(path)


def test_an_ordinary_run_sends_a_search_to_its_command(search_file: Make) -> None:
    done = CliRunner().invoke(libmultilabel, ["--config", str(search_file())])
    assert done.exit_code == 2
    assert "num_samples (some_tune.yml" in done.output
    assert "plant search FILE" in done.output


@pytest.mark.parametrize("name", NAMES)
def test_examples_may_be_drawn(name: str) -> None:
    numbers = {"randn": [0, 1], "qrandn": [0, 1, 1]}.get(name, [2, 8, 2] if name.startswith("q") else [2, 8])
    arguments = [[[3], {"a": 1}, "x"]] if name in plan_module.LISTED else numbers
    _, examples = plan_module._domain(name, arguments)
    expected = {"randn": [0], "qrandn": [0], "randint": [2, 7]}.get(name, [2, 8])
    assert examples == (arguments[0] if name in plan_module.LISTED else expected)
