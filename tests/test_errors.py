from __future__ import annotations

import pytest

from plant_plugin.errors import ConfigError, MissingExtraError, PlantError, needs_extra, suggestion


def test_an_error_says_what_where_and_how_to_fix_it() -> None:
    error = PlantError("no text", where="train.txt, line 3", fix="write one")
    assert error.message == "train.txt, line 3: no text\n  How to fix it: write one"
    assert error.exit_code == 2


def test_a_single_fault_of_a_configuration_is_its_only_problem() -> None:
    error = ConfigError("is wrong", where="seed")
    assert error.problems == [error]


def test_the_nearest_name_is_suggested_or_all_of_them() -> None:
    assert suggestion("Trian", ["train", "test"]) == "did you mean train?"
    assert suggestion("other", ["train", "test"]) == "one of train, test"


def test_a_missing_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[llm\]"), needs_extra("llm", "adapters need peft"):
        raise ImportError("peft")
