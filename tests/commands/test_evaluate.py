"""``plant evaluate`` and ``plant compare``: what they refuse; their numbers are tested in tests/report."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        ("mean=0.3", "'mean=0.3' is no threshold"),
        ("micro=nan", "'micro=nan' is no threshold"),
        ("micro", "'micro' is no threshold"),
    ],
)
def test_thresholds_that_are_none(tmp_path: Path, threshold: str, message: str) -> None:
    truth = tmp_path / "test.txt"
    truth.write_text("a\ttext\n", encoding="utf-8")
    call = ["evaluate", "--truth", str(truth), "--scores", str(truth), "--threshold", threshold]
    outcome = CliRunner().invoke(plant, call)
    assert outcome.exit_code == 2
    assert message in outcome.output


def test_a_table_needs_an_ending_that_is_known(tmp_path: Path) -> None:
    call = ["compare", str(tmp_path), "--baseline", "x", "--out", str(tmp_path / "table.docx")]
    outcome = CliRunner().invoke(plant, call)
    assert outcome.exit_code == 2
    assert "table.docx has no ending of a table" in outcome.output
