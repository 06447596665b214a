"""The limit of a run's main memory: a lack of it is an error that says what to lower."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from made_up_task import write_splits

from plant_plugin.config import Config
from plant_plugin.errors import PlantError
from plant_plugin.report.run import Run
from plant_plugin.training.memory import FIXES, limited_memory

resource = pytest.importorskip("resource")
PROGRAM = """
import sys
from pathlib import Path
from made_up_task import made_config
from plant_plugin.errors import PlantError
from plant_plugin.training import memory
from plant_plugin.training.run import run

memory.free_and_total_memory = lambda: (600 << 20, 1 << 40)
# weights of 200 MB, as many of gradients, and twice as many of moments
sizes = {"network_config__hidden_size": 8192, "network_config__embed_dim": 2048, "limit_val_batches": 1}
config = made_config(Path(sys.argv[1]), stage1__epochs=1, stage2__epochs=1, batch_size=2, eval_batch_size=2, **sizes)
try:
    print("ended with", run(config)["metrics"]["nDCG@5"])
except PlantError as error:
    print(error.message)
"""
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts a process's data")


@linux
@pytest.mark.integration  # another process imports everything
def test_a_run_that_does_not_fit_ends_with_what_to_lower(tmp_path: Path) -> None:
    write_splits(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr  # no kill, no traceback
    assert "memory" in done.stdout  # of the stage, or where the network is built
    assert "\n  How to fix it: " in done.stdout


@linux
def test_the_limit_ends_with_the_block(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory(Run(tmp_path / "run", silent=True)):
        assert 0 < resource.getrlimit(resource.RLIMIT_DATA)[0] < 1 << 50
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with limited_memory(Run(tmp_path / "run", silent=True), limited=False):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(("phase", "key"), [("planted_scores", "label_ridge"), ("refit_test", "eval_batch_size"),
                                            ("read", "a larger machine")])  # fmt: skip
def test_the_error_names_the_phase_and_the_keys_that_lower_it(tmp_path: Path, phase: str, key: str) -> None:
    run = Run(tmp_path / "run", silent=True)
    with pytest.raises(PlantError) as caught, limited_memory(run), run.phase(phase):
        raise MemoryError
    assert caught.value.message.startswith(f"{phase.removeprefix('refit_')}: memory does not suffice\n")
    assert key in caught.value.message
    with pytest.raises(RuntimeError, match="shapes"), limited_memory(run), run.phase(phase):
        raise RuntimeError("shapes do not fit")


def test_advice_names_keys_that_are_there(made: Callable[..., Config]) -> None:
    settings = made().as_dict()
    for fix in FIXES.values():
        for word in fix.replace(",", " ").split():
            section, _, inner = word.partition(".")
            if inner:
                assert inner in settings[section], word
