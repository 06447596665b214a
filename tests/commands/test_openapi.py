"""``plant openapi``: a file for programs that make clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant


def test_the_description_is_printed_or_written(tmp_path: Path) -> None:
    printed = CliRunner().invoke(plant, ["openapi"])
    assert printed.exit_code == 0, printed.output
    out = tmp_path / "openapi.json"
    assert CliRunner().invoke(plant, ["openapi", "--out", str(out)]).exit_code == 0
    assert json.loads(out.read_text(encoding="utf-8")) == json.loads(printed.stdout)
    assert set(json.loads(printed.stdout)["paths"]) == {"/v1/predict", "/v1/explain", "/v1/health", "/v1/ready"}


def test_of_a_server_with_a_token() -> None:
    secured = json.loads(CliRunner().invoke(plant, ["openapi", "--token"]).stdout)
    assert "securitySchemes" in secured["components"]
