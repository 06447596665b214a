"""``plant explain``: which document it takes."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "or take a text file as one document with --input text"),
        (["--input", "lines"], "more than one document\n  How to fix it: choose one with --document ID"),
        (["--input", "lines", "--document", "3"], "no document has this id"),
        (["--input", "text", "--document", "2"], "all of it was read as one text"),
        (["--input", "csv", "--document", "a"], "more than one document has this id"),
    ],
)
def test_which_document_is_explained_has_to_be_clear(tmp_path: Path, flags: list[str], message: str) -> None:
    file = tmp_path / "texts"
    file.write_text("id,text\na,fever\na,cough\n" if "csv" in flags else "fever\ncough\n", encoding="utf-8")
    outcome = CliRunner().invoke(plant, ["explain", str(tmp_path), str(file), *flags])
    assert outcome.exit_code == 2
    assert message in outcome.output
