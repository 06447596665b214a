"""``plant predict``: what it refuses before a model is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--system", "urn:codes"], "--system: only FHIR names a code system"),
        (["--out", "texts.txt"], "texts.txt: this is read, and would be replaced"),
    ],
)
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("fever\n", encoding="utf-8")
    outcome = CliRunner().invoke(plant, ["predict", ".", "texts.txt", *flags])
    assert outcome.exit_code == 2
    assert message in outcome.output
    assert Path("texts.txt").read_text(encoding="utf-8") == "fever\n"
