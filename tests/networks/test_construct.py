"""What cannot be built is said without a traceback."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.networks.construct import construct


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"embed_dropout": 3}, "has to be below 1, not 3"),
        ({"hidden_size": 2**62}, "PLANT cannot be built"),
        ({"encoder": "awd_lstm", "directions": "sideways"}, "has no choice 'sideways'"),
    ],
)
def test_values_that_no_network_can_have(wrong: dict[str, Any], message: str) -> None:
    options = {"encoder": "cnn", "hidden_size": 4, "filter_sizes": [3], "num_heads": 1, "pool_size": 2}
    with pytest.raises(ConfigError, match=message):
        construct("PLANT", 3, torch.zeros(5, 4), {**options, **wrong})
