from __future__ import annotations

import argparse
import ast
import os
from pathlib import Path
from typing import Any

import pytest
from configurations import plant
from pydantic import TypeAdapter, ValidationError

from plant_plugin.config.options import RelevanceOptions, Stage1Options, Stage2Options
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
        read = TypeAdapter(option.hint).validate_python(option.default)
        assert read == (list(option.default) if option.nargs else option.default)
        assert type(read) in (option.type, list, int)
    if not option.nargs and option.type is not bool:
        with pytest.raises(ValidationError):
            TypeAdapter(option.hint).validate_python({"a": 1})


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
