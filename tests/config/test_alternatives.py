"""A flag for words or a language model takes the place of the other; what a file says of both stays."""

from __future__ import annotations

from typing import Any

import pytest

from plant_plugin.config import load_config
from plant_plugin.config.alternatives import replace_alternative

BOTH = {"encoder": "cnn", "lm_weight": "bert"}  # a layer over frozen states


@pytest.mark.parametrize(
    ("given", "flags", "kept"),
    [
        ({"encoder": "cnn"}, ["network_config.lm_weight"], {}),
        ({"lm_weight": "bert"}, ["network_config.encoder"], {}),
        ({"encoder": "cnn"}, ["network_config.lm_weight", "network_config.encoder"], {"encoder": "cnn"}),
        (
            {"encoder": "cnn", "lm_weight": "bert"},
            ["network_config.lm_weight"],
            {"encoder": "cnn", "lm_weight": "bert"},
        ),
        ({"encoder": "cnn"}, ["network_config.hidden_size"], {"encoder": "cnn"}),
    ],
)
def test_only_the_other_one_goes(given: dict[str, str], flags: list[str], kept: dict[str, str]) -> None:
    values: dict[str, Any] = {"network_config": {**given}}
    replace_alternative(values, flags)
    assert values == {"network_config": kept}


def test_every_plant_of_words_takes_a_language_model() -> None:
    config = load_config("plant", {"training_file": "demo:train", "network_config.lm_weight": "bert"})
    assert config.network_config["lm_weight"] == "bert"
    assert "encoder" not in config.network_config
    back = load_config("plant_minilm", {"training_file": "demo:train", "network_config.encoder": "cnn"})
    assert back.network_config["encoder"] == "cnn"
    assert "lm_weight" not in back.network_config
