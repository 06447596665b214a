"""Targets of the Makefile that a program in the place of Python can show."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
PYTHON = """#!/bin/sh
echo "$@" >> calls
case "$*" in *"pip show"*) exit {shown};; *"git+https"*) echo "fatal: no network" >&2; exit 1;; esac
"""


def make(folder: Path, shown: int, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run make with an environment that answers `pip show` with an exit code and has no network."""
    (folder / "venv" / "bin").mkdir(parents=True)
    python = folder / "venv" / "bin" / "python"
    python.write_text(PYTHON.format(shown=shown))
    python.chmod(0o755)
    (folder / "venv" / ".installed-dev").touch()  # newer than what is to be installed
    done = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), "-o", "pyproject.toml", "-o", "constraints.txt", *arguments,
         f"VENV={folder / 'venv'}", f"DATA={folder}"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done, (folder / "calls").read_text().splitlines()


@pytest.mark.parametrize("installed", [True, False])
def test_experiments_install_pyxclib_or_say_in_one_line_that_they_go_on_without(
    tmp_path: Path, installed: bool
) -> None:
    done, calls = make(tmp_path, 0 if installed else 1, "experiments")
    said = [line for line in done.stdout.splitlines() if "pyxclib" in line]
    assert len(said) == (0 if installed else 1)
    assert done.stderr == ""
    assert any("--no-deps git+https://github.com/kunaldahiya/pyxclib" in call for call in calls) != installed
    assert calls[-1].endswith("benchmarks/experiments/missing.py")


def test_a_checkout_takes_the_place_of_the_repository(tmp_path: Path) -> None:
    done, calls = make(tmp_path, 1, "xclib", "XCLIB=/a/checkout")
    assert calls[-1].endswith("--no-deps /a/checkout")
    assert "pyxclib" not in done.stdout
