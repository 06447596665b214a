"""What stage 1 refuses, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.trained_state import trained_state
from plant_plugin.training import stage2
from plant_plugin.training.run import run

Made = Callable[..., Config]


@pytest.mark.parametrize(
    "keys",
    [{"stage1__epochs": 0, "stage2__epochs": 0}, {"stage2__epochs": 0, "strategy": "end_to_end"}],
    ids=str,
)
def test_what_would_plant_nothing_is_refused(made: Made, keys: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"stage[12]"):
        made(**keys)


def test_no_epochs_of_stage_2_leave_the_network_of_stage_1(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, torch.Tensor] = {}
    original = stage2.run_stage2

    def watch(network: HeadNetwork, *others: Any) -> None:
        kept.update({name: tensor.detach().clone() for name, tensor in trained_state(network).items()})
        original(network, *others)

    monkeypatch.setattr(stage2, "run_stage2", watch)
    run(made(stage2__epochs=1, result_dir=str(tmp_path / "whole")))
    monkeypatch.undo()
    config = made(stage2__epochs=0, result_dir=str(tmp_path / "stage1"))
    assert run(config)["metrics"]
    found = load_file(Path(config.checkpoint_dir) / "model.safetensors")
    assert found.keys() == kept.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor, kept[name], rtol=0, atol=0)
