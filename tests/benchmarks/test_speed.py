"""The benchmarks of ``make speed``, which no other test runs, find what they import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SPEED = Path(__file__).parents[2] / "benchmarks" / "speed"


def test_every_benchmark_can_be_collected() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        str(SPEED),
        "-o",
        "addopts=",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "test_long_documents" in done.stdout
