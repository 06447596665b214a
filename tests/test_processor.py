from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.processor import processor_features, processor_name, usable_cores


def test_description_of_linux(tmp_path: Path) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nmodel name\t: Maker X 9000\nflags\t\t: fpu avx512f amx_tile\n", encoding="utf-8")
    assert processor_name(path) == "Maker X 9000"
    assert processor_features(path) == ["AMX", "AVX-512"]


def test_without_a_description(tmp_path: Path) -> None:
    assert processor_name(tmp_path / "absent")
    assert processor_features(tmp_path / "absent") == []


def test_cores_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {1, 4, 5}, raising=False)
    assert usable_cores() == 3
