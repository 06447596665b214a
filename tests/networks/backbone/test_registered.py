"""A network's options, and the registered encoder that they name."""

from __future__ import annotations

import pytest
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.l2r.encoder import AwdLstmBackbone
from plant_plugin.networks import options
from plant_plugin.networks.backbone import read_options


def test_without_a_registered_encoder_the_options_are_the_network_s() -> None:
    read, build = read_options(options.LAAT, {"hidden_size": 8})
    assert build is None
    assert (type(read), read.hidden_size, read.projection_size) == (options.LAAT, 8, 512)


def test_a_registered_encoder_is_built_with_its_options_and_those_of_the_network() -> None:
    names = {"encoder": "awd_lstm", "directions": "both", "num_layers": 2, "projection_size": 5}
    read, build = read_options(options.LAAT, names)
    assert isinstance(read, options.LAAT)
    assert read.projection_size == 5
    assert build is not None
    backbone = build(torch.zeros(9, 3))
    assert isinstance(backbone, AwdLstmBackbone)
    assert (backbone.directions, backbone.hidden_size) == (("forward", "backward"), 6)
    widths = [layer.hidden_size for layer in backbone.models[0].stack()]
    assert widths == [1024, 3], "hidden_size is declared by both: the network's default holds"


def test_an_option_of_an_encoder_that_is_not_named_is_refused() -> None:
    with pytest.raises(ConfigError, match="directions"):
        read_options(options.LAAT, {"directions": "both"})
