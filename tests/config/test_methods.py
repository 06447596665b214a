"""Methods and data sets: every pair is a configuration, and every name means what it has always meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from packaged_settings import load_with_files, settings_of, stored

from plant_plugin.commands import configurations
from plant_plugin.commands.configurations import text_of
from plant_plugin.config import load_config, methods
from plant_plugin.config.methods import (
    data_sets,
    packaged,
    parts_of,
    read_configuration,
)
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError


@pytest.mark.parametrize("name", stored())
def test_a_name_resolves_to_the_settings_that_it_had(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_of(load_with_files(name))
    if name == "plant":  # it is for any file
        assert settings.pop("training_file") == "demo:train"
    assert settings == stored()[name]


@pytest.mark.parametrize("data", data_sets())
def test_every_method_runs_on_every_data_set(data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for method in methods.methods():
        config = load_with_files(f"{method}_{data}")
        assert (config.config_name, config.data_name, config.choose) == (f"{method}_{data}", data, False)
    content, _ = read_yaml(data_sets()[data])
    assert set(content.get("measured", [])) <= methods.methods().keys()


@pytest.mark.parametrize("method", ["plant_llm", "planted_plm_icd", "planted_plm_ca"])
@pytest.mark.parametrize("data", data_sets())
def test_a_planted_language_model_starts_low_and_learns_slower_than_its_head(
    method: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_with_files(f"{method}_{data}")
    assert config.network_config["initial_logit"] == -2
    for stage in (config.stage1, config.stage2):
        assert stage.learning_rate is not None
        assert stage.encoder_learning_rate is not None
        assert stage.encoder_learning_rate <= stage.learning_rate / 15


@pytest.mark.parametrize("method", methods.methods())
def test_a_method_by_itself_leaves_lengths_to_the_data(method: str) -> None:
    values, _ = read_configuration(method)
    assert values.get("choose", False) is not values.get("linear", False)
    assert not values.keys() & {"training_file", "val_file", "test_file", "data_name", "vocab_file"}


def test_names_are_split_in_one_way() -> None:
    split = {name: parts_of(name) for name in packaged()}
    assert len(set(split.values())) == len(split)
    assert split["plant_trained_minilm_eurlex6k"] == ("plant_trained_minilm", "eurlex6k")
    assert split["plant_bc5cdr_evidence"] == parts_of("plant_bc5cdr_evidence.yml") == ("plant", "bc5cdr_evidence")
    assert split["laat"] == ("laat", "")
    assert parts_of("plant_") is parts_of("plants") is parts_of("laat_no_such") is None


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method = "# Toy.\n\nmodel_name: PLANT\nnetwork_config: {encoder: cnn}\nstage1: {k: 3}\nseed: 2\n"
    linear = "# Line.\n\nlinear: true\n"
    first = (
        "# A.\n\ntraining_file: demo:train\nepochs: 7\nstage1: {k: 5, epochs: 1}\nmethods:\n  toy, line: {seed: 3}\n"
    )
    second = "# B.\n\nlike: first\nepochs: 8  # fewer\nmethods:\n  toy:\n    stage1:\n      k: 0  # none\n"
    files = {"toy": write(tmp_path, "toy.yml", method), "line": write(tmp_path, "line.yml", linear)}
    sets = {"first": write(tmp_path, "first.yml", first), "second": write(tmp_path, "second.yml", second)}
    for module in (methods, configurations):
        monkeypatch.setattr(module, "methods", lambda: files)
        monkeypatch.setattr(module, "data_sets", lambda: sets)


@pytest.mark.usefixtures("toys")
def test_the_method_is_over_the_data_set_and_the_pair_over_both() -> None:
    assert read_configuration("toy_first")[0] == {
        "training_file": "demo:train",
        "epochs": 7,
        "stage1": {"k": 3, "epochs": 1},
        "model_name": "PLANT",
        "network_config": {"encoder": "cnn"},
        "seed": 3,
    }
    assert read_configuration("line_first.yml")[0] == {
        "training_file": "demo:train", "epochs": 7, "linear": True, "seed": 3,
    }  # fmt: skip
    values, _ = read_configuration("toy_second")
    assert (values["epochs"], values["stage1"], values["seed"]) == (8, {"k": 0, "epochs": 1}, 3)


@pytest.mark.usefixtures("toys")
def test_an_error_names_the_file_and_the_line_that_a_key_comes_from() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config("toy_second", {"val_metric": "X@1"})
    assert [problem.where for problem in caught.value.problems] == ["stage1.k (second.yml, line 8)", "val_metric"]
    assert "toy_second.yml: 2 problems" in caught.value.message


@pytest.mark.usefixtures("toys")
def test_the_text_of_a_name_is_one_file_with_its_comments(tmp_path: Path) -> None:
    text = text_of("toy_second")
    assert text.startswith("# libmultilabel --config toy_second.yml\n#\n# Toy.\n#\n# B.\n\nseed: 3\n")
    assert "\nepochs: 8  # fewer\n" in text
    assert "  k: 0  # none\n" in text
    assert yaml.safe_load(text) == read_configuration("toy_second")[0]


@pytest.mark.parametrize("name", ["plant", "plant_codiesp_en", "plant_llm_mimic4", "linear_yso"])
def test_the_text_says_what_the_name_says(name: str) -> None:
    assert yaml.safe_load(text_of(name)) == read_configuration(name)[0]


def test_a_file_of_the_name_goes_before_the_packaged_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "plant_demo.yml", "seed: 9\n")
    assert read_configuration("plant_demo.yml")[0] == {"seed": 9}
    os.remove("plant_demo.yml")
    assert read_configuration("plant_demo.yml")[0]["seed"] == 1


def test_the_files_are_few_and_short() -> None:
    files = [*methods.methods().values(), *data_sets().values()]
    assert len(files) <= 45
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 2500


def test_of_many_configurations_the_nearest_are_told() -> None:
    with pytest.raises(ConfigError, match=r"did you mean plant_codiesp\.yml or .*`plant list configurations`") as near:
        load_config("plant_codisp.yml")
    with pytest.raises(ConfigError, match="`plant list configurations`") as far:
        load_config("0.json")
    assert near.value.message.count(".yml") == 4
    assert ".yml" not in far.value.message
