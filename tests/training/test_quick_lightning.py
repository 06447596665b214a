"""What trains a network of words imports no transformers; a language model still can."""

from __future__ import annotations

import runpy
import subprocess
import sys
from types import ModuleType

import pytest

from plant_plugin.training import quick_lightning

TRAINS = """
import sys
import plant_plugin.training.run
import plant_plugin.training.choose.settle
assert {"lightning", "torchmetrics"} <= set(sys.modules)
assert "transformers" not in sys.modules
from transformers import PretrainedConfig
"""


@pytest.mark.integration
def test_transformers_comes_only_where_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", TRAINS], check=True, timeout=300)


def test_transformers_that_is_there_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    there = ModuleType("transformers")
    monkeypatch.setitem(sys.modules, "transformers", there)
    runpy.run_path(quick_lightning.__file__)
    assert sys.modules["transformers"] is there
