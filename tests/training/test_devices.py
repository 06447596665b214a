"""One run in several processes: the same batches, the same numbers, one writer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from configurations import KIM_CNN, plant, problems_of
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.data.batches import Batches
from plant_plugin.errors import ConfigError
from plant_plugin.report.machine import usable_cores
from plant_plugin.report.metric_log import read_metrics
from plant_plugin.training import devices as processes
from plant_plugin.training.run import run

Made = Callable[..., Config]
needs_two_cores = pytest.mark.skipif(usable_cores() < 2, reason="needs two processor cores")


def made_batches(documents: int, **changes: Any) -> Batches:
    import numpy as np
    import scipy.sparse as sp

    from plant_plugin.data.token_arrays import TokenArrays

    lengths = np.random.default_rng(1).integers(1, 9, documents)
    arrays = TokenArrays.from_flat(np.ones(lengths.sum(), np.int32), lengths, frozenset())
    options = {"batch_size": 4, "pad_id": 0, "shuffle": True, "seed": 3, **changes}
    return Batches(arrays, sp.csr_array((documents, 5)), **options)


@pytest.mark.parametrize("changes", [{}, {"shuffle": False}])
@pytest.mark.parametrize("start", [0, 2])
def test_parts_are_the_batches_of_one_process_in_turn(changes: dict[str, Any], start: int) -> None:
    whole, parts = made_batches(50, **changes), [made_batches(50, **changes).take_part(part, 3) for part in range(3)]
    whole.set_epoch(1)
    for part in parts:
        part.set_epoch(1, start=start)
    alone = [batch["document"].tolist() for batch in whole]
    assert [len(part) for part in parts] == 3 * [-(-len(alone) // 3)]
    seen = [batch for together in zip(*parts, strict=True) for batch in together]
    counted = [batch["document"].tolist() for batch in seen if "surplus" not in batch]
    assert counted == alone[3 * start :]
    surplus = [batch for batch in seen if "surplus" in batch]
    assert len(surplus) == -len(alone) % 3
    for batch in surplus:
        assert batch["surplus"].tolist() == len(batch["document"]) * [True]


def test_more_devices_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"devices: 4096 are asked for, \d+ processor cores are there"):
        run(plant(devices=4096, cpu=True, result_dir=str(tmp_path)))
    assert not list(tmp_path.iterdir())


def test_torchrun_and_configuration_have_to_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    for given in ({}, {"devices": 4}):
        with pytest.raises(ConfigError, match=r"2 of 4 processes were started .*\n.*--devices 2, or another"):
            run(plant(**given))


def test_networks_of_libmultilabel_run_on_one_device() -> None:
    assert "KimCNN does not read it" in problems_of(**KIM_CNN, devices=2)["devices"]
    assert "devices" in problems_of(**KIM_CNN, devices=0)


def test_one_device_has_the_hash_of_a_configuration_without_the_key() -> None:
    assert plant().hash() == plant(devices=1).hash() != plant(devices=2).hash()


SHORT = {"batch_size": 18, "eval_batch_size": 16, "stage2__epochs": 2, "save_k_predictions": 2}


def assert_same_run(one: Config, two: Config) -> None:
    """The same numbers but for the order in which floats are added up, from the same files."""
    folders = [Path(config.checkpoint_dir) for config in (one, two)]
    assert {path.name for path in folders[0].iterdir()} == {path.name for path in folders[1].iterdir()}
    left, right = (json.loads((folder / "result.json").read_text()) for folder in folders)
    assert right["device"] == f"2 × {left['device']}"
    assert left["counts"] == right["counts"]
    assert left["counts"]["documents"] == 40
    for key in ("metrics", "thresholds"):
        assert right[key] == pytest.approx(left[key], abs=2e-3), key
    logs = [json.loads((folder / "logs.json").read_text()) for folder in folders]
    for split in ("stage1", "val", "test"):
        for epoch, other in zip(logs[0][split], logs[1][split], strict=True):
            assert other == pytest.approx(epoch, abs=2e-3), split
    rows = [[(place, name) for place, name, _ in read_metrics(folder / "metrics.csv")] for folder in folders]
    assert rows[0] == rows[1]
    weights = [load_file(folder / "model.safetensors") for folder in folders]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(
            tensor, weights[1][name], atol=1e-3, rtol=1e-2, msg=lambda text, name=name: name + text
        )


@pytest.mark.integration
@needs_two_cores
def test_two_processes_do_what_one_does_with_twice_the_accumulation(made: Made, tmp_path: Path) -> None:
    planted = {**SHORT, "planted_scores__model": "ridge"}
    one = made(**planted, accumulate=2, result_dir=str(tmp_path / "one"))
    run(one)
    environment = set(os.environ)
    two = made(**planted, devices=2, result_dir=str(tmp_path / "two"), cache_dir=str(tmp_path / "other_cache"))
    run(two)
    assert not {"RANK", "WORLD_SIZE", "MASTER_PORT"} & (os.environ.keys() - environment)
    assert processes.count() == 1
    assert_same_run(one, two)
    assert len(list((tmp_path / "two").iterdir())) == 1


@pytest.mark.integration
@needs_two_cores
def test_two_processes_train_again_on_both_as_one_does(made: Made, tmp_path: Path) -> None:
    given = {"batch_size": 18, "planted_scores__model": "ridge", "refit": "train+val"}
    one = run(made(**given, accumulate=2, result_dir=str(tmp_path / "one")))
    two = run(made(**given, devices=2, result_dir=str(tmp_path / "two")))
    assert two["refit"] == one["refit"]
    assert two["time_s"].keys() == one["time_s"].keys()
    assert two["thresholds"] == pytest.approx(one["thresholds"], abs=2e-3)
    assert two["metrics"] == pytest.approx(one["metrics"], abs=2e-3)


@pytest.mark.integration
@needs_two_cores
def test_torchrun_and_resuming(made: Made, tmp_path: Path) -> None:
    """Started by torchrun, stopped by SIGTERM at a step, and gone on with by the same command."""
    one = made(**SHORT, accumulate=2, result_dir=str(tmp_path / "one"))
    run(one)
    script = tmp_path / "member.py"
    script.write_text(
        "import os, signal, sys\n"
        f"sys.path[:0] = {[str(Path(__file__).parents[1]), *sys.path]!r}\n"
        "from pathlib import Path\n"
        "from made_up_task import made_config\n"
        "from plant_plugin.errors import Stopped\n"
        "from plant_plugin.training.run import run\n"
        "from plant_plugin.training.stage2 import Stage2\n"
        "step = Stage2.training_step\n"
        "def stop(self, batch, batch_idx):\n"
        "    if (self.current_epoch, batch_idx) == (1, 1) and os.environ['RANK'] == '1':\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return step(self, batch, batch_idx)\n"
        "if sys.argv[1] == 'stop':\n"
        "    Stage2.training_step = stop\n"
        f"config = made_config(Path({str(tmp_path)!r}), **{SHORT!r}, devices=2, resume='auto',\n"
        f"                     result_dir={str(tmp_path / 'two')!r})\n"
        "try:\n"
        "    run(config)\n"
        "    print('ended')\n"
        "except Stopped:\n"
        "    print('stopped')\n"
    )
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    for how, said in (("stop", "stopped"), ("go", "ended")):
        done = subprocess.run([*torchrun, how], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == 2 * [said]
    (folder,) = (tmp_path / "two").iterdir()
    two = made(**SHORT, devices=2, resume=str(folder))
    assert_same_run(one, two)


@pytest.mark.integration
@needs_two_cores
def test_what_ends_another_process_is_told(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(processes.PlantError, match=r"another of the 2 processes ended .*no card(?s:.*)--resume"):
        processes.together(fails_elsewhere, made(devices=2), tmp_path)


def fails_elsewhere() -> dict[str, Any]:
    if not processes.is_first():
        raise processes.PlantError("no card")
    processes.dist.barrier()
    return {}
