from __future__ import annotations

import time

import pytest

from plant_plugin.report import progress
from plant_plugin.report.progress import said_to_go_on


def test_a_long_step_is_said_to_go_on_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 1)
    lines: list[str] = []
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    with said_to_go_on("relevance", lines.append):
        now[0] = 5.0  # of a slow machine: what is due is said at once
        deadline = time.monotonic() + 30
        while len(lines) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert lines[:3] == ["relevance: 1 s so far", "relevance: 2 s so far", "relevance: 4 s so far"]


def test_a_short_step_says_nothing_and_an_error_passes() -> None:
    lines: list[str] = []
    with pytest.raises(ValueError, match="torn"), said_to_go_on("relevance", lines.append):
        raise ValueError("torn")
    assert lines == []
