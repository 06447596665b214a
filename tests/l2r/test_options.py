"""The options of the first PLANT, read and checked without torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

from plant_plugin.config.problems import read_options
from plant_plugin.errors import ConfigError
from plant_plugin.l2r.options import PLANTL2R, AwdLstm


def test_the_network_takes_every_option_of_its_encoder() -> None:
    read = read_options(PLANTL2R, {"directions": "both", "gradient_segments": 2})
    assert isinstance(read, AwdLstm)
    assert (read.directions, read.gradient_segments, read.segment_tokens) == ("both", 2, 72)
    assert read_options(AwdLstm, {}).segment_tokens is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("directions", "sideways"), ("inattention", 0), ("static", -0.1), ("word_dropout", 1.5), ("num_layer", 2)],
)
def test_an_option_that_is_not_as_declared_names_itself(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        read_options(PLANTL2R, {name: value})


def test_they_are_read_without_torch() -> None:
    code = "import sys, plant_plugin.l2r.options; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
