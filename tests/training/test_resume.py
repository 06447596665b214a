"""Runs that are killed, stopped or damaged, and go on to the same bytes."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from killed_runs import in_process, killed_at, same_bytes

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, Stopped
from plant_plugin.report.logs import LOGS, read_logs
from plant_plugin.report.record import RUN_FILE
from plant_plugin.report.result import read_result
from plant_plugin.training import promises
from plant_plugin.training import run as training_run
from plant_plugin.training.loop import newest_state
from plant_plugin.training.resume import (
    STATE_KEY,
    RequiredContent,
    is_whole,
    mend_logs,
    read_state,
    record_of,
    resume_newest,
)
from plant_plugin.training.resume import command as resume_command
from plant_plugin.training.run import run
from plant_plugin.training.stage1 import Stage1
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
OFTEN = {"checkpoint_every": "2", "batch_size": 20}


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.integration
def test_the_same_command_goes_on_after_kills_to_the_same_bytes(
    made: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    often = {**OFTEN, "stage1__epochs": 1, "stage2__epochs": 2}
    whole = made(**often, result_dir=str(tmp_path / "whole"))
    run(whole)
    places = ((Stage1, "training_step", 4), (Stage2, "validation_step", 2), (promises, "report", 1))
    folders = set()
    for owner, name, call in places:
        config = resume_newest(made(**often, resume="auto", result_dir=str(tmp_path / "cut")))
        folders.add(config.checkpoint_dir)
        process = in_process(killed_at, config, owner, name, call)
        process.join()
        assert process.exitcode == -signal.SIGKILL, name
        if owner is Stage2:
            newest = max((config.checkpoint_dir / "stage2").glob("state-*.ckpt"))
            flip(newest)
    (folder,) = folders
    moved = folder.rename(tmp_path / "moved")
    cost = json.loads((moved / "run.json").read_text())["cost"]
    result = run(made(**often, resume=str(moved)))
    assert result["time_s"]["stage1"] > cost["time_s"]["stage1"] > 0
    assert result["time_s"]["total"] > cost["time_s"]["total"]
    same_bytes(whole.checkpoint_dir, moved)
    assert [path.name for path in moved.iterdir() if path.name.startswith(("stage", "."))] == []

    shutil.rmtree(tmp_path / "cut")
    again = resume_newest(made(**often, resume="auto", result_dir=str(tmp_path / "whole")))
    assert again.resume is None  # that one has ended
    assert run(made(**often, resume=str(moved))) == read_result(moved / "result.json")


@pytest.mark.integration
def test_twenty_kills_at_random_moments(made: Made, tmp_path: Path) -> None:
    whole = made(**OFTEN, result_dir=str(tmp_path / "whole"))
    started = time.monotonic()
    in_process(run, whole).join()
    seconds, kills, ended = time.monotonic() - started, 0, 0
    moments = random.Random(7)
    while kills < 20 or not ended:
        config = resume_newest(made(**OFTEN, resume="auto", result_dir=str(tmp_path / "cut")))
        process = in_process(run, config)
        process.join(moments.uniform(0, seconds) if kills < 20 else None)
        if process.is_alive():
            process.kill()
            process.join()
            kills += 1
            kept = sorted(path.name for path in config.checkpoint_dir.glob("stage*/*.ckpt"))
            print(f"kill {kills}: {config.checkpoint_dir.name}, kept: {', '.join(kept)}")
        else:
            assert process.exitcode == 0
            same_bytes(whole.checkpoint_dir, config.checkpoint_dir)
            ended += 1
            print(f"ended: the same bytes ({ended})")


def test_the_newest_whole_state_of_this_run_is_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def write(step: int, config: str = "mine") -> Path:
        path = tmp_path / f"state-{step:09d}.ckpt"
        content = {"config": config, "step": step, "epoch": 2, "batch": 3, "has_ended": False, "skipped": 0}
        content |= {"pieces": 1, "log_lengths": {"val": 2}, "logs": {}, "has_best": False}
        torch.save({STATE_KEY: content, "weights": torch.zeros(1000)}, path)
        return path

    assert newest_state(tmp_path, "mine") is None
    write(1)
    flip(write(2))
    write(3, "other")
    torn = write(4)
    torn.write_bytes(torn.read_bytes()[:500])
    found = newest_state(tmp_path, "mine")
    assert found is not None
    path, told = found
    assert path.name == "state-000000001.ckpt"
    assert (told["step"], told["epoch"], told["batch"], told["log_lengths"]) == (1, 2, 3, {"val": 2})
    said = [record.getMessage() for record in caplog.records]
    for message, step, what in zip(said, (4, 3, 2), ("torn", "of another run", "torn"), strict=True):
        assert f"state-{step:09d}.ckpt is {what} and set aside" in message
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".ckpt", *3 * [".unusable"]]


@pytest.mark.integration
def test_sigterm_saves_and_the_run_goes_on_to_the_same_bytes(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**OFTEN, "checkpoint_every": "epoch", "strategy": "end_to_end", "accumulate": 2}
    whole = made(**given, result_dir=str(tmp_path / "whole"))
    run(whole)
    config = made(**given, result_dir=str(tmp_path / "cut"))
    step, validate = Stage2.training_step, Stage2.validation_step

    def stop(self: Any, batch: Any, batch_idx: int) -> Any:
        if self.current_epoch == 1 and batch_idx == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, batch, batch_idx)

    def stop_later(self: Any, batch: Any, batch_idx: int) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return validate(self, batch, batch_idx)

    def stop_at_once(*args: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("still running")

    before = signal.getsignal(signal.SIGTERM)
    for owner, name, replacement in (
        (Stage2, "training_step", stop),
        (Stage2, "validation_step", stop_later),
        (training_run, "tune_thresholds", stop_at_once),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, replacement)
            with pytest.raises(Stopped, match="--resume") as stopped:
                run(config)
        assert stopped.value.exit_code == 0
        config = made(**given, resume=str(config.checkpoint_dir))
        if name == "training_step":
            states = [path.name for path in sorted((config.checkpoint_dir / "stage2").glob("state-*"))]
            assert states == ["state-000000003.ckpt", "state-000000005.ckpt"]  # 6 batches, accumulated by 2
    assert signal.getsignal(signal.SIGTERM) == before
    run(config)
    same_bytes(whole.checkpoint_dir, config.checkpoint_dir)


def test_a_run_resumed_in_the_first_epoch_does_not_start_again(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given, step = {**OFTEN, "stage1__epochs": 1, "stage2__epochs": 1, "silent": False}, Stage1.training_step
    config = made(**given)

    def stop(self: Any, batch: Any, batch_idx: int) -> Any:
        if batch_idx == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(self, batch, batch_idx)

    with monkeypatch.context() as patch:
        patch.setattr(Stage1, "training_step", stop)
        with pytest.raises(Stopped):
            run(config)
    run(made(**given, resume=str(config.checkpoint_dir)))
    told = capsys.readouterr().err
    assert told.count("stage1 resumes after step") == 1


def test_a_stage_that_stopped_early_is_not_trained_further(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = made(strategy="end_to_end", stage2__patience=1, stage2__epochs=5, learning_rate=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr("plant_plugin.training.resume.write_tensors", lambda *_: (_ for _ in ()).throw(KeyError))
        with pytest.raises(KeyError):
            run(config)
    before = len(json.loads(config.log_path.read_text())["val"])
    assert before == 2
    run(made(strategy="end_to_end", stage2__patience=1, stage2__epochs=5, learning_rate=1e-12, resume="auto"))
    assert len(json.loads(config.log_path.read_text())["val"]) == before


def test_resuming_with_other_data_is_refused(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made()
    with monkeypatch.context() as patch:
        patch.setattr(training_run, "build_network", lambda *_, **__: (_ for _ in ()).throw(KeyError))
        with pytest.raises(KeyError):
            run(config)
    with open(tmp_path / "test.txt", "a") as stream:
        stream.write("L1\tfiller1 filler2\n")
    with pytest.raises(CheckpointError, match="changed since the run was started: test"):
        run(made(resume=str(config.checkpoint_dir)))


def test_the_command_to_resume_repeats_the_flags(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    config = made()
    typed = ["/bin/libmultilabel", "--config", "a b.yml", "--resume", "auto", "--seed", "3"]
    monkeypatch.setattr(sys, "argv", typed)
    command = resume_command(config.config_name, config.checkpoint_dir)
    assert command == f"libmultilabel --config 'a b.yml' --seed 3 --resume {config.checkpoint_dir}"
    monkeypatch.setattr(sys, "argv", ["/bin/plant", "train", "new.txt", "--from", "run", "--resume=auto"])
    command = resume_command(config.config_name, config.checkpoint_dir)
    assert command == f"plant train new.txt --from run --resume {config.checkpoint_dir}"
    monkeypatch.setattr(sys, "argv", ["pytest"])
    command = resume_command(config.config_name, config.checkpoint_dir)
    assert command == f"libmultilabel --config PLANT --resume {config.checkpoint_dir}"


CONTENT = dict.fromkeys(RequiredContent.__required_keys__, 0)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state of stage 2, in a run whose record and log are torn."""
    (tmp_path / "stage2").mkdir()
    path = tmp_path / "stage2" / "state-000000007.ckpt"
    torch.save({STATE_KEY: {**CONTENT, "config": "hash", "logs": {"val": [{"P@1": 0.5}]}}}, path)
    for name in (RUN_FILE, LOGS):
        (tmp_path / name).write_text("{")
    return path


def test_torn_files_of_a_run_are_mended_from_its_newest_state(state: Path) -> None:
    folder = state.parents[1]
    assert record_of(folder) == {"config_hash": "hash"}
    mend_logs(folder)
    assert read_logs(folder / LOGS)["val"] == [{"P@1": 0.5}]


def test_of_a_torn_state_nothing_is_read(state: Path) -> None:
    assert is_whole(state)
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content[: len(content) - 20])
    assert not is_whole(state)
    assert read_state(state) is None
    assert record_of(state.parents[1]) is None
    with pytest.raises(CheckpointError):
        mend_logs(state.parents[1])


def test_a_state_without_our_part_is_none(state: Path) -> None:
    torch.save({STATE_KEY: {"config": "hash"}}, state)
    assert is_whole(state)
    assert read_state(state) is None
