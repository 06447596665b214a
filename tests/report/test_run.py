"""The clock of a run, and a folder that cannot be written."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from plant_plugin.errors import PlantError
from plant_plugin.report.run import Run


def test_a_folder_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlantError, match="--result_dir"):
        Run(tmp_path / "file" / "run")


def test_phases_add_up_and_have_a_peak(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", silent=True)
    for _ in range(2):
        with run.phase("read"):
            time.sleep(0.02)
    with run.phase("fill"):
        block = bytearray(80 * 2**20)
    with run.phase("work"):
        started = time.process_time()
        while time.process_time() - started < 0.05:
            pass
    seconds, processor, memory, on_gpu = run.totals().values()
    assert seconds["read"] >= 0.04 > processor["read"]  # asleep
    assert 0.05 <= processor["work"] <= processor["total"]
    assert seconds["total"] >= seconds["read"] + seconds["fill"] - 0.002  # each is rounded to a millisecond
    assert memory["fill"] > 0
    assert memory["total"] >= len(block) / 2**20
    assert on_gpu == {}


def test_a_phase_knows_the_most_that_a_gpu_held_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter([7, 1, 5, 9, 2, 3, 6, 0])  # MiB, the most since it was last asked
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 2**20 * next(held))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: None)
    run = Run(tmp_path / "run", silent=True)
    run.go_on({"gpu_memory_mb": {"stage1": 4.0, "total": 8.0}})
    with run.phase("stage2"):
        with run.phase("thresholds"):
            pass
        run.totals()
    with run.phase("test"):
        pass
    expected = {"total": 9.0, "stage2": 9.0, "thresholds": 5.0, "test": 6.0, "stage1": 4.0}
    assert run.totals()["gpu_memory_mb"] == expected


def test_a_run_that_goes_on_counts_its_earlier_starts(tmp_path: Path) -> None:
    first = Run(tmp_path / "run", silent=True)
    with first.phase("stage2"):
        time.sleep(0.02)
        before = first.totals()  # in the middle of a phase
    seconds, memory = before["time_s"], before["peak_memory_mb"]
    assert seconds["stage2"] >= 0.02
    memory["total"] += 10_000
    before["cpu_s"]["stage2"] += 100
    again = Run(tmp_path / "run", silent=True)
    again.go_on(before)
    with again.phase("stage2"), again.phase("test"):
        time.sleep(0.02)
    both, processor, most, _ = again.totals().values()
    assert processor["stage2"] >= 100
    assert both["stage2"] >= seconds["stage2"] + 0.02
    assert both["total"] >= seconds["total"] + 0.02
    assert both["test"] < both["stage2"]
    assert most["total"] == memory["total"]


def test_an_error_inside_a_phase_passes_and_its_time_counts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", silent=True)
    with pytest.raises(KeyError), run.phase("read"):
        raise KeyError
    assert "read" in run.costs["time_s"]


def test_silent_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Run(tmp_path / "one", silent=True).log("hello")
    assert capsys.readouterr() == ("", "")
    Run(tmp_path / "two").log("hello")
    assert "hello" in capsys.readouterr().err
