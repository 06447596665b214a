from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from configurations import PLANT, problems_of

from plant_plugin.config.load import load_config
from plant_plugin.errors import ConfigError


def test_all_problems_are_told_at_once_with_their_lines(write: Callable[[str], Path]) -> None:
    path = write(
        "model_name: PLNT\nseed: 1\nseed: 2\nepochs: many\nstage1:\n  k: 0\n  pears: within\ntest_file: x.txt\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(path, {"epochs": "none"})
    assert [problem.where for problem in caught.value.problems] == [
        "seed (some.yml)",
        "epochs",
        "stage1.k (some.yml, line 6)",
        "stage1.pears (some.yml, line 7)",
        "model_name (some.yml, line 1)",
        "test_file: x.txt (some.yml, line 8)",
        "training_file",
    ]
    assert "some.yml: 7 problems" in caught.value.message
    for problem in caught.value.problems:
        assert problem.message in caught.value.message
    assert "lines 2 and 3" in caught.value.message


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("epochs", "many", "a whole number, not 'many'"),
        ("epochs", 2.5, "a whole number, not 2.5"),
        ("epochs", True, "a whole number, not True"),
        ("epochs", None, "a whole number, not null"),
        ("seed", "x", "null or a whole number, not 'x'"),
        ("learning_rate", float("nan"), "a number, not nan"),
        ("learning_rate", [1], "a number, not list"),
        ("shuffle", "perhaps", "true or false, not 'perhaps'"),
        ("data_name", None, "a text, not null"),
        ("optimizer", "adm", "did you mean adam"),
        ("linear_technique", "svm", "one of 1vsrest"),
        ("precision", "8", "auto"),
        ("monitor_metrics", 3, "a list, not 3"),
        ("monitor_metrics", [], "is empty"),
        ("network_config", [1], "has to be `name: value` lines, not list"),
        ("stage1", [1], "has to be `name: value` lines, not list"),
        ("stage1.k", "[1]", "a whole number, not list"),
        ("stage1.clip_norm", "x", "null or a number, not 'x'"),
        ("stage1.loss", "focal", "one of lambda_rank, mse"),
        ("stage2.loss", "focall", "did you mean focal"),
        ("stage2.reduction", "sum", "has no choice 'sum'"),
        ("network_config.num_heads", "many", "a whole number, not 'many'"),
        ("network_config.hidden_size", "null", "a whole number, not null"),
        ("network_config.num_heads", "{", "is not YAML"),
    ],
)
def test_wrong_types_and_choices(key: str, value: Any, message: str) -> None:
    assert message in problems_of(**{**PLANT, key: value})[key]
