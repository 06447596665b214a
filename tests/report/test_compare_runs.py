"""Paths to a table, in one call: the newest run of each name, and what is left out is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from plant_plugin import compare
from plant_plugin.errors import ConfigError


def run(folder: Path, model: str, value: float, age: int) -> Path:
    folder.mkdir()
    content = {"dataset": "mine", "model": model, "seed": 1, "metrics": {"P@1": value}, "counts": {"documents": 4}}
    (folder / "result.json").write_text(json.dumps(content))
    os.utime(folder / "result.json", (1_000_000 - age, 1_000_000 - age))
    return folder


def test_runs_become_a_table(tmp_path: Path) -> None:
    runs = [run(tmp_path / "old", "A", 0.1, 9), run(tmp_path / "new", "A", 0.5, 1), run(tmp_path / "b", "B", 0.75, 1)]
    with pytest.warns(UserWarning, match="old is left out: it is older than"):
        table = compare(runs, "A")
    assert table.systems == ["A", "B"]
    assert [table.cells[name, "P@1"].mean for name in table.systems] == [0.5, 0.75]
    said: list[str] = []
    assert (
        compare([f"mine={runs[0]}", runs[2]], "mine", metrics=["P@1"], say=said.append).cells["mine", "P@1"].mean == 0.1
    )
    assert said == []
    with pytest.raises(ConfigError, match="no result is called 'C'"):
        compare(runs[1:], "C")
    with pytest.raises(ConfigError, match="results: one string, where any number is expected"):
        compare(str(runs[0]), "A")
