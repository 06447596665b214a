"""Rows of ``plant doctor``."""

from __future__ import annotations

import click
import pytest

from plant_plugin.commands.rows import Rows, check, row


def test_rows_are_printed_or_kept_for_json() -> None:
    rows = Rows()
    with click.Context(click.Command("doctor"), obj=rows):
        row("disk", "1 GiB free")
        assert check("torch", "2.0")
        assert not check("ray", "not installed", "pip install ray")
    assert [(each["name"], each["ok"], each["fix"]) for each in rows] == [
        ("disk", None, None),
        ("torch", True, None),
        ("ray", False, "pip install ray"),
    ]


def test_a_printed_row_says_how_to_mend_it(capsys: pytest.CaptureFixture[str]) -> None:
    with click.Context(click.Command("doctor")):
        check("ray", "not installed", "pip install ray")
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in lines] == ["!! ray not installed", "pip install ray"]
