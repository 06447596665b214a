"""Several systems on one split: each run once, in a process of its own, and what fails is named."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from made_up_task import write_splits

from plant_plugin.errors import ConfigError, Interrupted
from plant_plugin.training import bench as module
from plant_plugin.training.bench import bench

MODELS = {"linear": "linear-1vsrest", "mine": "linear-tree"}
FLAGS = {"planted_scores.names": "none", "cpu": True, "silent": True}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_splits(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines() -> list[str]:
    return []


@pytest.mark.integration
def test_systems_are_trained_once_each_and_a_failure_stops_none(folder: Path) -> None:
    (folder / "broken.yml").write_text("linear: true\nliblinear_options: -s 99\n")
    said = lines()
    done = bench("train.txt", ["linear", "broken.yml", "scores"], 2, folder / "out", FLAGS, said.append)
    assert [(system.name, len(system.results), system.without_chance) for system in done.systems] == [
        ("linear", 1, True), ("scores", 2, False),
    ]  # fmt: skip
    assert list(done.failed) == ["broken, seed 1", "broken, seed 2"]
    assert "no result" not in done.failed["broken, seed 1"]
    tested = {system.results[0]["hashes"]["test"] for system in done.systems}
    assert len(tested) == 1
    assert done.systems[0].results[0]["counts"]["documents"] == 40, "test.txt lies beside train.txt"
    assert not (folder / "out" / "data").exists()
    times = {path: path.stat().st_mtime_ns for path in folder.glob("out/*/result.json")}
    assert len(times) == 3
    again = bench("train.txt", ["scores"], 2, folder / "out", FLAGS, said.append)
    assert [system.name for system in again.systems] == ["scores"]
    assert {path: path.stat().st_mtime_ns for path in folder.glob("out/*/result.json")} == times


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Runs in the order in which they would be trained; each leaves a result of its own."""
    done: list[tuple[str, int]] = []

    def train(configuration: Path, seed: int, folder: Path) -> str | None:
        done.append((configuration.stem, seed))
        folder.mkdir()
        content = {"model": MODELS.get(configuration.stem, "M"), "seed": seed, "metrics": {"P@1": 0.5}}
        (folder / "result.json").write_text(json.dumps(content))
        return None

    monkeypatch.setattr(module, "_apart", train)
    return done


def test_seeds_go_round_and_new_ones_are_added(folder: Path, trained: list[tuple[str, int]]) -> None:
    own = folder / "mine.yml"
    own.write_text("linear: true\nlinear_technique: tree\n")
    for seeds in (1, 2):
        bench("train.txt", ["linear", "mine.yml"], seeds, folder / "out", {}, lines().append)
    assert trained == [("linear", 1), ("mine", 1), ("mine", 2)]


def test_other_documents_flags_and_systems_are_refused(folder: Path, trained: list[tuple[str, int]]) -> None:
    bench("train.txt", ["linear"], 1, folder / "out", {"min_vocab_freq": "2"}, lines().append)
    with pytest.raises(ConfigError, match="other flags"):
        bench("train.txt", ["linear"], 1, folder / "out", {}, lines().append)
    with open(folder / "test.txt", "a") as stream:
        stream.write("L1\tone more\n")
    with pytest.raises(ConfigError, match="other documents"):
        bench("train.txt", ["linear"], 1, folder / "out", {"min_vocab_freq": "2"}, lines().append)
    with pytest.raises(ConfigError, match="no packaged configuration"):
        bench("train.txt", ["linaer"], 1, folder / "new", {}, lines().append)
    assert not (folder / "new").exists()
    with pytest.raises(ConfigError, match="FILE is what is trained on"):
        bench("train.txt", ["linear"], 1, folder / "new", {"training_file": "other.txt"}, lines().append)


def test_keys_with_a_dot_are_for_networks_of_ours(folder: Path, trained: list[tuple[str, int]]) -> None:
    flags = {"stage2.epochs": 1, "batch_size": 7, "planted_scores.names": "none"}
    bench("train.txt", ["caml", "laat"], 1, folder / "out", flags, lines().append)
    caml, laat = ((folder / "out" / f"{name}.yml").read_text() for name in ("caml", "laat"))
    assert "batch_size: 7" in caml
    assert "stage2" not in caml
    assert "batch_size: 7" in laat
    assert "epochs: 1\n" in laat
    assert "epochs: 120" in caml


@pytest.mark.integration
def test_a_stop_ends_the_run_too_and_the_same_command_goes_on(folder: Path) -> None:
    (folder / "mine.yml").write_text(
        "model_name: PLANT\nstrategy: end_to_end\nnetwork_config: {encoder: cnn, hidden_size: 16, pool_size: 8}\n"
        "stage2: {epochs: 4000}\npatience: 4000\nembed_file: null\n"
    )
    code = "from plant_plugin.cli import plant; plant()"
    command = [sys.executable, "-c", code, "bench", "train.txt", "--systems", "mine.yml", "--seeds", "1", "--cpu"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    run = folder / "bench" / "mine_seed1"
    deadline = time.monotonic() + 120
    while not list(run.glob("stage2/*.ckpt")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "the same command goes on" in said
    before = json.loads((run / "run.json").read_text())
    assert not before["finished"]
    assert not (run / "result.json").exists()
    assert list(run.glob("stage2/*.ckpt"))
    assert os.listdir(folder / "bench").count(".lock") == 0


def test_ctrl_c_is_said_with_what_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        """A process that Ctrl-C comes to while it is waited for."""

        def __init__(self, **arguments: object) -> None:
            self.ended = False

        def start(self) -> None: ...

        def terminate(self) -> None:
            self.ended = True

        def join(self) -> None:
            if not self.ended:
                raise KeyboardInterrupt

    context = module.multiprocessing.get_context("spawn")
    monkeypatch.setattr(context, "Process", Stopped)
    monkeypatch.setattr(module.multiprocessing, "get_context", lambda kind: context)
    with pytest.raises(Interrupted, match="the same command goes on") as stop:
        bench("train.txt", ["linear"], 1, folder / "out", {}, lines().append)
    assert stop.value.exit_code == 130
