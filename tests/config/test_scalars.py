from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError


@pytest.mark.parametrize("written", ["1:30:00", "010", "-010", "0x1F", "0b1", "1_000", "1_0.5", "1:30.5"])
@pytest.mark.parametrize("key", ["seed", "data_name", "network_config"])
def test_numbers_that_people_read_otherwise_are_refused(tmp_path: Path, key: str, written: str) -> None:
    path = tmp_path / "a.yml"
    path.write_text(f"model_name: PLANT\n{key}: {written if key != 'network_config' else f'{{a: {written}}}'}\n")
    with pytest.raises(ConfigError, match=r"line 2: .*written like this; put a text in quotes"):
        read_yaml(path)


def test_plain_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("a: 10\nb: -3\nc: 0\nd: 1.5\ne: 1e-4\nf: '010'\ng: +7\nh: 0.05\ni: .inf\n")
    wanted = {"a": 10, "b": -3, "c": 0, "d": 1.5, "e": "1e-4", "f": "010", "g": 7, "h": 0.05, "i": float("inf")}
    assert read_yaml(path)[0] == wanted


@pytest.mark.parametrize("name", ["1.10", ".nan", "1.e+5"])
def test_a_name_that_yaml_has_changed_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.yml"
    whole = "model_name: PLANT\ntraining_file: demo:train\nnetwork_config: {encoder: cnn}\n"
    path.write_text(f"{whole}data_name: {name}\n")
    with pytest.raises(ConfigError, match="data_name"):
        load_config(path)
    path.write_text(f"{whole}data_name: '{name}'\n")
    assert load_config(path).data_name == name
