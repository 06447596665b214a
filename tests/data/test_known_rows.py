from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data import known_rows as module
from plant_plugin.data.known_rows import known_rows
from plant_plugin.data.name_rows import table_rows
from plant_plugin.data.vocabularies import LabelName
from plant_plugin.errors import DataError


def test_a_table_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(module, "table_rows", lambda path, say: read.append(path) or table_rows(path, say))
    path = tmp_path / "names.tsv"
    path.write_text("A\tfever\nB\tcough\n")
    assert known_rows(path) == known_rows(path) == (LabelName("A", "fever", ""), LabelName("B", "cough", ""))
    path.write_text("A\tfever\nB\tcough of smokers\n")
    assert known_rows(path)[1].name == "cough of smokers"
    assert read == [path, path]


def test_how_it_was_read_is_said_each_time(tmp_path: Path) -> None:
    path, said = tmp_path / "names.tsv", []
    path.write_text("A\tfever\thigh and long\n")
    for _ in range(2):
        known_rows(path, said.append)
    assert known_rows(path) == (LabelName("A", "fever\thigh and long", ""),)
    assert len(said) == 2
    assert "1 names hold a TAB" in said[1]


def test_what_is_wrong_is_said_each_time(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    path.write_text("no tab here\n")
    for _ in range(2):
        with pytest.raises(DataError, match=r"names\.tsv, line 1"):
            known_rows(path)
    with pytest.raises(DataError):
        known_rows(tmp_path / "missing.tsv")
