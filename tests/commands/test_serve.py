"""``plant serve``, ``export`` and ``strip``: what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant


def test_serve_refuses_a_desk_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(plant, ["serve", str(tmp_path), "--desk", str(tmp_path / "typo.sqlite")])
    assert done.exit_code == 2
    assert "add-coder" in done.output
    assert not (tmp_path / "typo.sqlite").exists()


def test_export_refuses_a_language_that_is_none(tmp_path: Path) -> None:
    done = CliRunner().invoke(plant, ["export", str(tmp_path), "--out", str(tmp_path / "out"), "--language", "English"])
    assert done.exit_code == 2
    assert "'English' is no code of a language" in done.output
