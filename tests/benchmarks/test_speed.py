"""The benchmarks of ``make speed``, which no other test runs, find what they import."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed"


def test_every_benchmark_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [SPEED / "conftest.py", *SPEED.glob("test_*.py")]
    for path in files:  # one imports another; what a test of the same name may need stays
        monkeypatch.setitem(sys.modules, path.stem, None)
        monkeypatch.delitem(sys.modules, path.stem)
    monkeypatch.syspath_prepend(str(SPEED))
    found = [runpy.run_path(str(path)).keys() for path in files]
    assert len(found) > 8
    assert {"test_long_documents", "measure"} <= set().union(*found)
