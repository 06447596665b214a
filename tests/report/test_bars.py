from __future__ import annotations

import io
import sys

import pytest

from plant_plugin.report.bars import shows_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("out", "err", "phase", "shown"),
    [
        (Terminal(), Terminal(), "stage1", True),
        (Terminal(), Terminal(), "refit_stage2", True),
        (Terminal(), Terminal(), "relevance", False),  # it has no bar
        (Terminal(), io.StringIO(), "stage1", False),
        (io.StringIO(), Terminal(), "stage1", False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, out: io.StringIO, err: io.StringIO, phase: str, shown: bool
) -> None:
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert shows_progress(phase) is shown
