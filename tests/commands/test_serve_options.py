"""``plant serve --access-log``: the file is open while the server runs; what ``plant export --onnx`` does not take."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
import click

from plant_plugin.cli import plant
from plant_plugin.commands.serve_options import logs_access
from plant_plugin.serving.access_log import logger


def test_the_file_is_open_as_long_as_the_command_runs(tmp_path: Path) -> None:
    @click.command()
    @logs_access
    def serve() -> None:
        logger.info("{}")

    path = tmp_path / "access.jsonl"
    assert CliRunner().invoke(serve, ["--access-log", str(path)]).exit_code == 0
    assert path.read_text(encoding="utf-8") == "{}\n"
    assert CliRunner().invoke(serve, ["--access-log", "-"]).stdout == "{}\n"
    assert CliRunner().invoke(serve).stdout == ""


def test_a_file_that_cannot_be_opened_is_told_before_the_model_is_read(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(plant, ["serve", str(tmp_path), "--access-log", str(tmp_path / "no" / "a.jsonl")])
    assert outcome.exit_code == 2
    assert "it cannot be opened" in outcome.output


@pytest.mark.parametrize("flag", [("--dtype", "float32"), ("--language", "en"), ("--lm-weight", "x")], ids=str)
def test_onnx_takes_no_flag_of_model_folders(tmp_path: Path, flag: tuple[str, str]) -> None:
    outcome = CliRunner().invoke(plant, ["export", str(tmp_path), "--out", str(tmp_path / "m.onnx"), "--onnx", *flag])
    assert outcome.exit_code == 2
    assert f"{flag[0]}: it is of model folders" in outcome.output
