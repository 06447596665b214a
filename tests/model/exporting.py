"""``plant export``, as the tests of several modules call it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from plant_plugin.cli import plant


def export(folder: Path, out: Path, *more: str) -> Result:
    return CliRunner().invoke(plant, ["export", str(folder), "--out", str(out), *more])
