"""``plant plausibility``: what it refuses; its numbers are tested in tests/model."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from plant_plugin.cli import plant


def test_a_threshold_is_written_into_a_folder_only(tmp_path: Path) -> None:
    (tmp_path / "model.zip").write_bytes(b"")
    outcome = CliRunner().invoke(plant, ["plausibility", str(tmp_path / "model.zip"), "--write-threshold"])
    assert outcome.exit_code == 2
    assert "one file is not written into" in outcome.output
