from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest

from plant_plugin.report import progress
from plant_plugin.report.bars import can_draw
from plant_plugin.report.run import Run


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "err", "drawn"),
    [
        (Terminal(), Terminal(), True),
        (Terminal(), io.StringIO(), False),
        (io.StringIO(), Terminal(), False),
        (io.StringIO(), io.StringIO(), False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, out: io.StringIO, err: io.StringIO, drawn: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert can_draw() is drawn


def test_a_phase_says_that_it_goes_on_where_its_bar_is_not_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.01)
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", stream)
        with Run(tmp_path).phase("refit_stage2"):
            time.sleep(0.1)
        assert ("refit_stage2: 0 s so far" in stream.getvalue()) is not stream.isatty()
