"""The options that look codes up; what they do at a desk is tried in tests/serving/desk/test_imports.py."""

from __future__ import annotations

from click.testing import CliRunner

from plant_plugin.cli import plant


def test_the_help_names_them() -> None:
    told = CliRunner().invoke(plant, ["desk", "add-documents", "--help"]).output
    assert "--take-unknown" in told
    assert "--names" in told
