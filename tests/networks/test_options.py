"""Options of our networks: read without torch, every fault at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from plant_plugin.config.problems import read_options
from plant_plugin.errors import ConfigError
from plant_plugin.networks import options


def test_they_are_read_without_torch() -> None:
    code = (
        "import sys\n"
        "from plant_plugin.config import load_config\n"
        "load_config('plant_demo.yml')\n"
        "print([name for name in ('torch', 'transformers', 'lightning') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_values_are_read_as_they_are_declared() -> None:
    read = read_options(options.PLANT, {"lm_weight": "bert", "lora": {"r": "8"}, "pool_size": "32"})
    assert (read.lora, read.pool_size) == (options.LoraOptions(r=8), 32)


@pytest.mark.parametrize(
    ("declared", "network_config", "keys"),
    [
        (options.PLANT, {"encoder": "cnn", "num_heads": 0, "hiden_size": 3, "lora": {"r": 0}},
         ["num_heads", "hiden_size", "lora.r"]),
        (options.PLANT, {"lm_weight": "b", "freeze_encoder": True, "lora": {}, "lm_dropout": 0},
         ["lora", "lm_dropout"]),
        (options.PLANT, {"encoder": "cmn"}, ["encoder"]),
        (options.LAAT, {"encoder": "cnn"}, ["encoder"]),
        (options.PlantedCAML, {"encoder": "gru", "filter_sizes": [3, 4]}, ["encoder", "filter_sizes"]),
        (options.PLMICD, {}, ["lm_weight"]),
    ],
)  # fmt: skip
def test_every_fault_is_named(declared: type[Any], network_config: dict[str, Any], keys: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read_options(declared, network_config)
    assert {str(problem.where) for problem in caught.value.problems} == {f"network_config.{key}" for key in keys}
    assert all(problem.fix or "at least" in problem.what for problem in caught.value.problems)
