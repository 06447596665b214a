from __future__ import annotations

import argparse
import ast
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from configurations import PLANT, plant, problems_of

from plant_plugin.config import load_config
from plant_plugin.config.options import RelevanceOptions, Stage1Options, Stage2Options
from plant_plugin.config.problems import read_value
from plant_plugin.config.sections import BLOCKS, OPTIONS, SCHEMA


def test_defaults_are_those_of_main_py() -> None:
    config = plant()
    assert (config.epochs, config.batch_size, config.learning_rate, config.optimizer) == (10000, 16, 0.0001, "adam")
    assert (config.val_size, config.max_seq_length, config.patience, config.shuffle) == (0.2, 500, 5, True)
    assert plant(network_config={"lm_weight": "mistral-7b"}).max_seq_length is None  # nothing is cut unless asked for
    assert plant(network_config={"lm_weight": "mistral-7b"}, max_seq_length=9).max_seq_length == 9
    assert plant(max_seq_length=None).max_seq_length is None
    assert config.monitor_metrics == ["P@1", "P@3", "P@5"]
    assert config.early_stopping_metric == config.val_metric == "P@1"
    assert config.scheduler_config is None
    assert config.predict_out_path == "./predictions.txt"
    assert (config.relevance, config.stage1, config.stage2) == (RelevanceOptions(), Stage1Options(), Stage2Options())
    assert (config.strategy, config.precision, config.resume, config.cache_dir) == ("plant", "auto", None, None)
    assert (config.allow_bad_lines, config.propensity_a, config.propensity_b) == (False, 0.55, 1.5)


@pytest.mark.parametrize("option", SCHEMA, ids=lambda option: option.name)
def test_every_option_has_a_sentence_and_takes_its_own_default(option: Any) -> None:
    assert option.help.endswith(".")
    assert option.is_flag == (option.type is bool and option.default is False)
    if option.default is not None:
        read = read_value(option.default, option.hint)
        assert read == (list(option.default) if option.nargs else option.default)
        assert type(read) in (option.type, list, int)
    if not option.nargs and option.type is not bool:
        with pytest.raises(ValueError, match="has to be"):
            read_value({"a": 1}, option.hint)


@pytest.mark.skipif("LIBMULTILABEL_CHECKOUT" not in os.environ, reason="set it to a checkout of LibMultiLabel")
def test_keys_types_and_defaults_of_main_py() -> None:
    text = Path(os.environ["LIBMULTILABEL_CHECKOUT"], "main.py").read_text()
    function = next(node for node in ast.parse(text).body if getattr(node, "name", "") == "add_all_arguments")
    parser, space = argparse.ArgumentParser(add_help=False), {}
    exec(compile(ast.Module([function], []), "main.py", "exec"), space)
    space["add_all_arguments"](parser)
    actions = {action.dest: action for action in parser._actions if action.dest != "help"}
    for name, action in actions.items():
        option = OPTIONS[name]
        flag = isinstance(action, argparse._StoreTrueAction)
        assert (name, option.type) == (name, bool if flag else action.type or str)
        assert (name, option.default) == (name, tuple(action.default) if action.nargs == "+" else action.default)
        if name not in ("data_format", "linear_technique"):  # of the registry
            assert (name, option.choices) == (name, tuple(action.choices or ()))
        assert option.is_flag == flag
        assert option.const == (None if flag else action.const)
    assert {option.name for option in SCHEMA if option.group != "PLANT"} - {"refit"} == set(actions)


def test_names_are_given_once() -> None:
    names = [option.name for option in SCHEMA]
    assert len(names) == len(set(names))
    assert not set(names) & set(BLOCKS)


def test_flags_beat_the_file_key_by_key(write: Callable[[str], Path]) -> None:
    path = write(
        "model_name: PLANT\ntraining_file: demo:train\nseed: 1\nepochs: 7\n"
        "network_config: {encoder: cnn, hidden_size: 64}\nstage1: {k: 9, labels: positive}\n"
    )
    flags = {"seed": "2", "stage1.k": "500", "stage1.clip_norm": "null", "network_config.filter_sizes": "[3, 5]"}
    config = load_config(path, flags)
    assert (config.seed, config.epochs) == (2, 7)
    assert (config.stage1.k, config.stage1.labels, config.stage1.clip_norm) == (500, "positive", None)
    assert config.network_config == {"encoder": "cnn", "hidden_size": 64, "filter_sizes": [3, 5]}
    whole = load_config(path, {"network_config": {"encoder": "bilstm"}, "stage1": "{k: 3}"})
    assert whole.network_config == {"encoder": "bilstm"}
    assert whole.stage1 == Stage1Options(k=3)


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("shuffle", "False", False),
        ("add_special_tokens", "no", False),
        ("silent", "true", True),
        ("learning_rate", "2e-5", 2e-5),
        ("learning_rate", 1, 1),
        ("val_size", 100, 100),
        ("epochs", 3.0, 3),
        ("precision", 32, "32"),
        ("data_name", 2024, "2024"),
        ("monitor_metrics", "P@5", ["P@5", "P@1"]),
        ("monitor_metrics", ("P@1", "Macro-F1@.50:1-5"), ["P@1", "Macro-F1@.50:1-5"]),
        ("seed", None, None),
        ("predict_out_path", None, None),
    ],
)
def test_values_mean_what_they_say(key: str, value: Any, read: Any) -> None:
    config = plant(**{key: value})
    assert config.as_dict()[key] == read
    assert type(config.as_dict()[key]) is type(read)


@pytest.mark.parametrize(
    ("block", "name", "value", "read"),
    [
        ("stage1", "labels", "256", 256),
        ("stage1", "labels", "all", "all"),
        ("stage1", "learning_rate", "2e-5", 2e-5),
        ("stage1", "epochs", None, None),
        ("stage2", "hard_negatives", None, None),
        ("stage2", "gamma", 2, 2),
        ("relevance", "top", "100", 100),
    ],
)
def test_values_of_blocks(block: str, name: str, value: Any, read: Any) -> None:
    assert read_value(value, BLOCKS[block].__dataclass_fields__[name].type) == read
    assert getattr(getattr(plant(**{f"{block}.{name}": value}), block), name) == read


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
