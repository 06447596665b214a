"""What a search will do is known, and what is wrong with it told at once, before Ray is started or data are read."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.errors import ConfigError
from plant_plugin.training.search import plan as plan_module
from plant_plugin.training.search.plan import plan_search
from plant_plugin.training.search.space import NAMES, Expression

Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one test is about what is installed."""
    monkeypatch.setattr(plan_module, "find_spec", lambda name: object())


def problems_of(path: Path, **overrides: Any) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        plan_search(path, overrides)
    return {re.split(r"[: ]", str(problem.where))[0]: problem.message for problem in caught.value.problems}


def test_a_plan(search_file: Make) -> None:
    plan = plan_search(search_file())
    assert [(each.key, each.name, each.arguments) for each in plan.expressions] == [
        ("network_config.hidden_size", "grid_search", (8, 16)),
        ("stage1.k", "choice", (5, 10)),
    ]
    assert (plan.num_trials, plan.mode, plan.options.cpu_count, plan.options.gpu_count) == (6, "max", 4, 1.0)
    drawn = {"network_config.hidden_size": 1, "stage1.k": 0}
    assert plan.decoded(drawn) == {"network_config.hidden_size": 16, "stage1.k": 5}
    values = plan.configuration(plan.decoded(drawn))
    assert values["network_config"] == {"encoder": "cnn", "hidden_size": 16}
    assert values["stage1"] == {"k": 5, "epochs": 3}
    assert (values["merge_train_val"], values["refit"]) == (False, "none")
    assert not {"num_samples", "scheduler"} & values.keys()
    assert plan.configuration(plan.decoded({"network_config.hidden_size": 0, "stage1.k": 1}))["stage1"]["k"] == 10


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
    found = {each.key: (each.name, each.arguments) for each in plan.expressions}
    assert found == {
        "stage1.k": ("randint", (5, 9)),
        "learning_rate": ("loguniform", (1e-4, 1e-2)),
        "stage2.gamma": ("uniform", (0, 2)),
    }
    assert plan.options.num_samples == 2
    assert plan.options.scheduler == {"max_t": 4, "grace_period": 2}
    assert plan.base.network_config["hidden_size"] == 12


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["grid_serch", [1, 2]], "'grid_serch' is not known; did you mean grid_search?"),
        (["wish", [1, 2]], "'wish' is not known; one of choice, grid_search"),
        (["choice", 0.1, 0.2], "takes one list of values"),
        (["grid_search", []], "takes one list of values"),
        (["choice"], "takes one list of values"),
        (["uniform", 0.1], r"takes 2 numbers \(low, high\), not 1"),
        (["uniform", "a", 0.1], "low has to be a number"),
        (["uniform", 0.2, 0.1], "low has to be below high"),
        (["uniform", 0.1, float("inf")], "high has to be"),
        (["loguniform", 0, 0.1], "low has to be above 0"),
        (["quniform", 0.1, 0.2, 0], "step has to be above 0"),
        (["quniform", 0.1, 0.25, 0.1], "multiples of the step"),
        (["randint", 1.5, 3], "low has to be a whole number"),
        (["randn", 1, 0], "deviation has to be above 0"),
    ],
)
def test_a_malformed_expression_is_told_with_its_line(search_file: Make, value: list[Any], message: str) -> None:
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
        ({"batch_size": ["uniform", 1, 9]}, "batch_size.* has to be a whole number"),
        ({"batch_size": ["quniform", 1, 2, 0.5]}, "batch_size.* has to be a whole number, not 1.5"),
        ({"batch_size": ["randint", 0, 4]}, "batch_size.* has to be at least 1"),
        ({"stage2": {"gama": ["uniform", 0, 1]}}, "stage2.gama.* there is no such key"),
        (
            {"network_config": {"encoder": ["choice", ["cnn", "bigru"]], "heads": ["choice", [1, 2]]}},
            "no such argument",
        ),
        ({"data_format": ["choice", ["txt", "svm"]]}, "cannot be compared"),
        ({"result_dir": ["choice", ["a", "b"]]}, "no result depends on it"),
        ({"planted_scores": {"model": "ridge", "top": ["choice", [10, 20]]}}, "added after the epochs"),
        ({"search_alg": "random"}, "search_alg.* has no choice 'random'"),
        ({"search_alg": "optuna"}, "optuna knows no grid_search"),
        ({"search_alg": "bayesopt"}, "bayesopt knows no choice"),
        ({"num_samples": 0}, "num_samples.* has to be at least 1"),
        ({"cpu_count": "few"}, "cpu_count.* has to be a whole number"),
        ({"gpu_count": -1}, "gpu_count.* has to be at least 0"),
        ({"num_sample": 2}, "num_sample .*there is no such key\n.*did you mean num_samples"),
        ({"no_retrain": True, "no_merge_train_val": True}, "excludes no_merge_train_val"),
        ({"scheduler": 3}, "scheduler.* has to be a mapping or null"),
        ({"scheduler": {"max_t": 3, "grace_period": 5}}, "at most max_t, 3"),
        ({"scheduler": {"maxt": 3}}, "ASHA has no such argument\n.*did you mean max_t"),
        ({"scheduler": {"reduction_factor": 1}}, "has to be above 1"),
        ({"scheduler": {"time_attr": "epochs"}}, "has no choice 'epochs'"),
        ({"val_file": None, "val_size": 0}, "no validation documents to choose by"),
        ({"linear": True, "network_config": None, "stage1": {"k": 5}}, "a search is for networks|does not read it"),
        ({"stage2": {"epochs": 0}}, "there are no epochs to compare"),
        ({"choose": True}, "choose.* each trial would choose anew"),
        ({"strategy": "planted_scores", "planted_scores": {"model": "ridge"}}, "there are no epochs to compare"),
        ({"training_file": "nowhere.txt"}, "training_file: nowhere.txt.* no such file"),
        ({"network_config": {"encoder": "cnn"}, "stage1": {"k": 5}}, "there is nothing to search"),
    ],
    ids=str,
)
def test_what_is_wrong_is_told(search_file: Make, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.compile(message)):
        plan_search(search_file(**changes))


def test_all_problems_are_told_at_once(search_file: Make) -> None:
    path = search_file(
        training_file="nowhere.txt",
        learning_rate=["loguniform", 0, 1],
        weight_decay=["choice", [0, -1]],
        search_alg="random",
        stage2={"gama": ["uniform", 0, 1]},
    )
    expected = {"training_file", "learning_rate", "weight_decay", "search_alg", "stage2.gama"}
    assert problems_of(path).keys() == expected
    done = CliRunner().invoke(plant, ["search", str(path)])
    assert done.exit_code == 2
    assert "some_tune.yml: 5 problems" in done.output
    assert not (path.parent / "runs").exists()


def test_a_combination_is_told_with_the_value_that_makes_it(search_file: Make) -> None:
    told = problems_of(search_file(network_config={"encoder": "cnn", "lora": ["choice", [None, {"r": 4}]]}))
    assert "lora" in "".join(told)


def test_baselines_have_to_monitor_their_metric(search_file: Make) -> None:
    path = search_file(
        model_name="KimCNN",
        embed_file="glove.6B.50d",
        stage1=None,
        network_config={"filter_sizes": ["grid_search", [[2], [2, 4]]]},
    )
    assert "where it is monitored" in problems_of(path)["val_metric"]
    plan = plan_search(path, {"monitor_metrics": ["P@1", "NDCG@5"]})
    assert plan.decoded({"network_config.filter_sizes": 1}) == {"network_config.filter_sizes": [2, 4]}


def test_what_is_missing_and_how_to_get_it(search_file: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "find_spec", lambda name: None)
    path = search_file(search_alg="optuna", network_config={"encoder": "cnn", "hidden_size": ["choice", [8, 16]]})
    told = problems_of(path)
    assert "Ray Tune is not installed" in told["search"]
    assert "Optuna is not installed" in told["search_alg"]
    assert all("pip install 'plant-plugin[search]'" in message for message in told.values())


def test_an_ordinary_run_sends_a_search_to_its_command(search_file: Make) -> None:
    done = CliRunner().invoke(libmultilabel, ["--config", str(search_file())])
    assert done.exit_code == 2
    assert "num_samples (some_tune.yml" in done.output
    assert "plant search FILE" in done.output


def test_checking_imports_neither_torch_nor_ray(search_file: Make) -> None:
    program = (
        "import sys; from plant_plugin.training.search.plan import plan_search\n"
        "from plant_plugin.training.search.search import search\n"
        f"try: plan_search({str(search_file(num_samples=0))!r})\n"
        "except Exception as error: print(type(error).__name__)\n"
        "print([name for name in ('torch', 'ray', 'pandas', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split("\n")[:2] == ["ConfigError", "[]"]


@pytest.mark.parametrize("name", NAMES)
def test_probes_lie_where_values_are_drawn(name: str) -> None:
    numbers = {"randn": (0, 1), "qrandn": (0, 1, 1)}.get(name, (2, 8, 2) if name.startswith("q") else (2, 8))
    arguments = ([3], {"a": 1}, "x") if name in ("choice", "grid_search") else numbers
    probes = Expression(("key",), name, arguments).probes()
    assert all(probe in arguments if name in ("choice", "grid_search") else -1 < probe <= 8 for probe in probes)
    assert yaml.safe_load(yaml.safe_dump(probes)) == probes
