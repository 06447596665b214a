from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from plant_plugin.report import machine
from plant_plugin.report.machine import (
    free_and_total_memory,
    processor_features,
    processor_name,
    usable_cores,
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the description of the processor is looked for."""
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    return tmp_path / "cpuinfo"


def test_description_of_linux(path: Path) -> None:
    path.write_text("processor\t: 0\nmodel name\t: Maker X 9000\nflags\t\t: fpu avx512f amx_tile\n", encoding="utf-8")
    assert processor_name() == "Maker X 9000"
    assert processor_features() == ["AMX", "AVX-512"]


def test_without_a_description(path: Path) -> None:
    assert not path.exists()
    assert processor_name()
    assert processor_features() == []


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {1, 4, 5}, raising=False)
    assert usable_cores() == 3


def test_a_control_group_may_have_a_space_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").write_text("0::/a job\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "own")
    (tmp_path / "a job").mkdir()
    for name, content in (("memory.max", "1000"), ("memory.current", "200"), ("memory.stat", "anon 1")):
        (tmp_path / "a job" / name).write_text(content)
    assert free_and_total_memory() == (800, 1000)


def cgroup(folder: Path, *, limit: str, used: int, names: tuple[str, str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(limit)
    (folder / names[1]).write_text(str(used))
    (folder / "memory.stat").write_text(f"anon 1\n{names[2]} 1000\n")


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_has_less_than_its_machine(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names, base = machine.CGROUP_FILES[version], tmp_path / "memory" if version == 1 else tmp_path
    (tmp_path / "own").write_text(f"{'4:memory' if version == 1 else '0:'}:/job/step\n7:cpu:/other\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "own")
    there = psutil.virtual_memory()
    assert free_and_total_memory()[1] == there.total  # of no group anything is to be seen
    cgroup(base / "job/step", limit="max", used=5000, names=names)
    cgroup(base / "job", limit="50000", used=21000, names=names)
    assert free_and_total_memory() == (30_000, 50_000)
    cgroup(base, limit="9000", used=21000, names=names)
    assert free_and_total_memory() == (0, 9000)
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "none")
    assert free_and_total_memory()[1] == there.total
