"""``plant prepare fasttext`` and ``annif``; what they read is tested in tests/prepare."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.commands.corpora import WARNINGS


@pytest.mark.parametrize(
    ("command", "content"), [("fasttext", "__label__a text\n"), ("annif", "text\t<http://example.org/a>\n")]
)
def test_a_file_becomes_a_folder_of_training(command: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "raw.tsv").write_text(content)
    call = ["prepare", command, str(tmp_path / "raw.tsv"), str(tmp_path / "out")]
    done = CliRunner().invoke(plant, call)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "train.txt").read_text().endswith("a\ttext\n")
    missing = CliRunner().invoke(plant, [*call[:2], str(tmp_path / "none"), *call[3:]])
    assert missing.exit_code == 2
    assert "no such file" in missing.output


def test_warnings_are_of_counts() -> None:
    assert all(name.islower() and " " not in name for name in WARNINGS)
