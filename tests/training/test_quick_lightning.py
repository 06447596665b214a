"""What trains a network of words imports no transformers, a language model still can; scores alone no Lightning."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from plant_plugin.training import quick_lightning

TRAINS = """
import sys
import plant_plugin.training.pace
assert {"lightning", "torchmetrics"} <= set(sys.modules)
assert "transformers" not in sys.modules
from transformers import PretrainedConfig
"""

SCORES = """
import sys
from plant_plugin.config import load_config
from plant_plugin.training.choose import settle
from plant_plugin.training.run import run
files = {"training_file": "train.txt", "val_file": "train.txt", "test_file": "train.txt"}
keys = {"strategy": "planted_scores", "planted_scores.model": "ridge", "result_dir": ".", "cpu": True, **files}
config = load_config("plant_demo.yml", keys)
assert run(config)["metrics"]
assert not {"lightning", "torchmetrics", "torch._dynamo", "transformers"} & set(sys.modules)
"""


@pytest.mark.integration
def test_what_trains_no_network_imports_no_lightning(tmp_path: Path) -> None:
    lines = [f"L{number % 6}\tsign{number % 6} word{number % 5} more\n" for number in range(30)]
    (tmp_path / "train.txt").write_text("".join(lines))
    subprocess.run([sys.executable, "-c", SCORES], check=True, timeout=300, cwd=tmp_path)


@pytest.mark.integration
def test_transformers_comes_only_where_it_is_asked_for() -> None:
    subprocess.run([sys.executable, "-c", TRAINS], check=True, timeout=300)


def test_transformers_that_is_there_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    there = ModuleType("transformers")
    monkeypatch.setitem(sys.modules, "transformers", there)
    runpy.run_path(quick_lightning.__file__)
    assert sys.modules["transformers"] is there
