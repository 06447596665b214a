from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.config import yaml_file as config_yaml
from plant_plugin.config.load import load_config
from plant_plugin.errors import ConfigError


def test_what_is_merged_is_no_key_that_is_given_twice(tmp_path: Path) -> None:
    path = tmp_path / "merged.yml"
    path.write_text("stage1: &both {epochs: 2, patience: 3}\nstage2: {<<: *both, epochs: 5}\n")
    values, problems = config_yaml.read_yaml(path)
    assert values["stage2"] == {"epochs": 5, "patience": 3}
    assert not problems.found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\nb: 2\n", "some.yml, line [23]: this is not YAML"),
        ("- a\n- b\n", "`key: value` lines"),
        ("just words", "`key: value` lines"),
        ("a: &x {b: *x}\n", "some.yml, line 1: .*it holds itself"),
    ],
)
def test_files_that_are_no_configuration(text: str, message: str, write: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(write(text))


def test_a_file_in_another_encoding_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "some.yml").write_bytes(b"data_name: \xff\xfe\n")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "some.yml")
