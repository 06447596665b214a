"""``plant evaluate --near-misses``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant


def evaluate(folder: Path, *arguments: str) -> Result:
    (folder / "test.txt").write_text("E11.0\ta\nE11.9 I11.0\tb\n", encoding="utf-8")
    (folder / "scores.txt").write_text("E11.9:2 I10:1 E11.0:-1\nE10.9:3 I11.0:1 E11.9:-1\n", encoding="utf-8")
    files = ["--truth", str(folder / "test.txt"), "--scores", str(folder / "scores.txt")]
    return CliRunner().invoke(plant, ["evaluate", *files, *arguments])


def lines(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def test_levels_and_distances_are_printed_and_written(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    outcome = evaluate(tmp_path, "--scores-are", "logit", "--near-misses", "--out", str(out))
    assert outcome.exit_code == 0, outcome.output
    printed = lines(outcome.output)
    assert ["Metric,", "%", "category", "(4)", "block", "(2)"] in printed
    assert ["Micro-P@0.5", "50.00", "75.00"] in printed
    assert ["P@3", "50.00", "–"] in printed
    assert printed.count(["@0.5", "33.33", "33.33", "33.33", "3"]) == 1
    near = json.loads(out.read_text(encoding="utf-8"))["near_misses"]
    assert near["missed"]["0.5"] == {"pairs": 2, "shares": {"category": 0.5, "block": 0.5, "elsewhere": 0.0}}
    assert near["levels"]["block"]["metrics"]["Micro-R@0.5"] == 1.0


def test_a_file_says_the_hierarchy(tmp_path: Path) -> None:
    (path := tmp_path / "broader.tsv").write_text("E11.0\tx\nI10\tx\n", encoding="utf-8")
    outcome = evaluate(tmp_path, "--near-misses", str(path))
    assert outcome.exit_code == 0, outcome.output
    assert ["Metric,", "%", "category", "(4)", "block", "(4)"] in lines(outcome.output)


def test_without_the_option_nothing_is_said(tmp_path: Path) -> None:
    outcome = evaluate(tmp_path, "--out", str(tmp_path / "result.json"))
    assert outcome.exit_code == 0
    assert "block" not in outcome.output
    assert "near_misses" not in json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["gone.tsv", "."])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    outcome = evaluate(tmp_path, "--near-misses", str(tmp_path / name))
    assert outcome.exit_code == 2
    assert "there is no such file" in outcome.output
