"""A whole run with the machine's own threads, as users have them, beside one with a single thread, as tests are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from marked_task import marked_config, write_marked_splits

from plant_plugin.report.machine import usable_cores
from plant_plugin.report.result import read_result
from plant_plugin.training.run import run

OWN_THREADS = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import torch
from marked_task import marked_config
from plant_plugin.training.run import run
folder = Path(sys.argv[1])
run(marked_config(folder, result_dir=str(folder / "threads"), cache_dir=str(folder / "other"), silent=True))
print(torch.get_num_threads())
"""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@pytest.mark.integration
@pytest.mark.skipif(usable_cores() < 2, reason="needs two processor cores")
def test_the_machines_own_threads_train_what_one_does(tmp_path: Path) -> None:
    """Sums of other parts are other sums in the last digits: no more than these may differ."""
    write_marked_splits(tmp_path)
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    arguments = [sys.executable, "-c", OWN_THREADS, str(tmp_path), str(Path(__file__).parents[1])]
    ended = subprocess.run(arguments, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert int(ended.stdout) > 1
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        run(marked_config(tmp_path, result_dir=str(tmp_path / "one")))
    finally:
        torch.set_num_threads(threads)
    one, several = (next((tmp_path / name).glob("*/result.json")) for name in ("one", "threads"))
    metrics = [read_result(path)["metrics"] for path in (one, several)]
    assert metrics[0].keys() == metrics[1].keys()
    values = [[float(value) for value in part.values() if isinstance(value, float)] for part in metrics]
    np.testing.assert_allclose(*values, atol=0.05)
    weights = [np.load(path.with_name("planted_scores.npz")) for path in (one, several)]
    for name in weights[0].files:
        if weights[0][name].dtype == np.float32:
            np.testing.assert_allclose(weights[1][name], weights[0][name], atol=1e-4, err_msg=name)
