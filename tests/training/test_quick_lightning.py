"""What trains a network of words imports no transformers; a language model still can."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRAINS = """
import sys
import plant_plugin.training.run
import plant_plugin.training.choose.settle
assert {"lightning", "torchmetrics"} <= set(sys.modules)
assert "transformers" not in sys.modules
from transformers import AutoConfig, AutoTokenizer
"""
THERE_ALREADY = """
import sys
import transformers
import plant_plugin.training.run
assert sys.modules["transformers"] is transformers
"""


@pytest.mark.parametrize("program", [TRAINS, THERE_ALREADY], ids=["not imported", "imported before"])
def test_transformers_comes_only_where_it_is_asked_for(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
