"""``plant prepare``: subsets, and the order of what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.commands.corpora import show


def test_subsets_that_are_none_and_codes_of_another_version(tmp_path: Path) -> None:
    call = ["prepare", "mimic4", "--hosp", str(tmp_path), "--note", str(tmp_path), "--out", str(tmp_path), "--subset"]
    for subset, message in (("full,top5", "'top5' is none of full, top50"), ("rare50", "rare50 is a list of ICD-9")):
        outcome = CliRunner().invoke(plant, [*call, subset])
        assert outcome.exit_code == 2
        assert message in outcome.output


def test_warnings_come_first_and_are_no_counts(capsys: pytest.CaptureFixture[str]) -> None:
    sets = {"full": {"train": 7, "patients_in_two_splits": 2}}
    show({"counts": {"documents": 1200}, "sets": sets}, Path("out"), True)
    printed = capsys.readouterr()
    assert printed.err.startswith("note: 2 patients have admissions in two splits")
    assert [line.split() for line in printed.out.splitlines()] == [
        ["documents", "1,200"],
        ["would", "be", "written:", "out/full"],
        ["train", "7"],
    ]
