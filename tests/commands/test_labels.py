from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.model import label_update
from plant_plugin.model.label_update import Changes


def test_what_changed_is_said_in_a_line_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[object, ...]] = []

    def update(folder: Path, names: tuple[str, ...], say: object, *, write: bool) -> Changes:
        asked.append((folder, names, write))
        return Changes([f"N{number}" for number in range(12)], ["R1"], [], ["K1"])

    monkeypatch.setattr(label_update, "update_names", update)
    arguments = ["labels", "update", str(tmp_path), "--names", "a.tsv", "--names", "icd10"]
    lines = CliRunner().invoke(plant, [*arguments, "--dry-run"]).output.splitlines()
    assert lines[0].startswith("labels that can be said from now on: 12; N0, N1")
    assert lines[0].endswith("… (2 more: --json)")
    assert lines[1:3] == ["labels that have other names: 1; R1", "labels that cannot be said any more: 0"]
    content = json.loads(CliRunner().invoke(plant, [*arguments, "--json"]).output)
    assert content["kept"] == ["K1"]
    assert asked == [(tmp_path, ("a.tsv", "icd10"), False), (tmp_path, ("a.tsv", "icd10"), True)]
