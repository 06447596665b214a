from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from made_up_mimic import lines, table

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic.mimic import MimicOptions, mimic4_source, prepare_mimic

DISCHARGE = ["note_id", "subject_id", "hadm_id", "note_type", "note_seq", "charttime", "storetime", "text"]
DIAGNOSES = ["subject_id", "hadm_id", "seq_num", "icd_code", "icd_version"]
PROCEDURES = ["subject_id", "hadm_id", "seq_num", "chartdate", "icd_code", "icd_version"]

# (subject, admission, type, sequence, text); 10 comes after 9, which text would not know
NOTES = [
    (1, 100, "AD", 2, "an addendum"),
    (1, 100, "DS", 10, "Name: ___ second summary, 5 mg"),
    (1, 100, "DS", 9, "first summary\r\nof two"),
    (2, 200, "DS", 1, "heart failure"),
    (3, 300, "DS", 1, "an admission coded in ICD-9"),
    (4, 400, "DS", 1, "a test-only code"),
    (5, "", "DS", 1, "no admission"),
]
# (subject, admission, code, version); one code padded with spaces as a fixed width leaves it
CODES = [
    (1, 100, "I5022", 10), (1, 100, "E119", 10), (2, 200, "I5022  ", 10), (2, 200, "I10", 10), (3, 300, "4280", 9),
    (3, 300, "E8889", 9), (4, 400, "I5022", 10), (4, 400, "Z9911", 10), (4, 400, "Z9911", 10),
]  # fmt: skip
OPERATIONS = [(1, 100, "02100Z9", 10), (3, 300, "0331", 9), (2, 200, "02100Z9", 10)]
# (code, version, long title); one code is in both versions
DIAGNOSIS_NAMES = [
    ("I5022", 10, "Chronic systolic (congestive) heart failure"), ("E119 ", 10, "Type 2 diabetes mellitus"),
    ("4280", 9, "Congestive heart failure, unspecified"), ("E8889", 9, "Unspecified fall"),
    ("E8889", 10, "Other specified metabolic disorders"), ("I10", 10, "Essential (primary) hypertension"),
]  # fmt: skip
PROCEDURE_NAMES = [("0331", 9, "Spinal tap"), ("02100Z9", 10, "Bypass Coronary Artery, One Artery from Left ...")]


def write_mimic4(
    folder: Path, *, notes: Any = NOTES, codes: Any = CODES, operations: Any = OPERATIONS, names: Any = DIAGNOSIS_NAMES,
    hosp_header: list[str] = DIAGNOSES,
) -> tuple[Path, Path]:  # fmt: skip
    hosp, note = folder / "hosp", folder / "note"
    tables = {
        note / "discharge.csv.gz": (DISCHARGE, [(f"{s}-{n}", s, h, k, n, "", "", text) for s, h, k, n, text in notes]),
        hosp / "diagnoses_icd.csv.gz": (hosp_header, [(s, h, 1, code, version) for s, h, code, version in codes]),
        hosp / "procedures_icd.csv.gz": (PROCEDURES, [(s, h, 1, "2150-01-01", c, v) for s, h, c, v in operations]),
        hosp / "d_icd_diagnoses.csv.gz": (["icd_code", "icd_version", "long_title"], names),
        hosp / "d_icd_procedures.csv.gz": (["icd_code", "icd_version", "long_title"], PROCEDURE_NAMES),
    }  # fmt: skip
    for path, (header, rows) in tables.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(table(header, rows).encode()))
    return hosp, note


def write_split(folder: Path) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import feather

    path = folder / "mimiciv_icd10_split.feather"
    feather.write_feather(
        pyarrow.table({"_id": [100, 200, 300, 400], "split": ["train", "train", "val", "test"]}), path
    )
    return path


def prepare(tmp_path: Path, icd: int, **options: Any) -> dict[str, Any]:
    options = {"subsets": ("full",), "splits": write_split(tmp_path), "out": tmp_path / "data", **options}
    return prepare_mimic(mimic4_source(*write_mimic4(tmp_path), icd), MimicOptions(**options))


def test_icd10_by_hand(tmp_path: Path) -> None:
    made = prepare(tmp_path, 10)
    folder = tmp_path / "data" / "MIMIC-IV"
    assert lines(folder / "train.txt") == [
        "02100Z9 E11.9 I50.22\tfirst summary of two name second summary mg an addendum",
        "02100Z9 I10 I50.22\theart failure",
    ]
    assert lines(folder / "test.txt") == ["I50.22 Z99.11\ta test only code"]
    assert lines(folder / "label_names.tsv") == [
        "02100Z9\tBypass Coronary Artery, One Artery from Left ...",
        "E11.9\tType 2 diabetes mellitus",
        "I10\tEssential (primary) hypertension",
        "I50.22\tChronic systolic (congestive) heart failure",
    ]
    assert made["sets"]["MIMIC-IV"]["labels_without_a_name"] == 1
    assert made["counts"]["diagnosis_rows_of_another_version"] == 2
    assert made["counts"]["procedure_rows_of_another_version"] == 1
    assert made["counts"]["codes_twice_in_an_admission"] == 1
    assert made["counts"]["summaries_without_admission"] == 1
    assert made["counts"]["split_ids_without_document"] == 1
    assert json.loads((folder / "provenance.json").read_text())["options"]["icd"] == 10


def test_icd9(tmp_path: Path) -> None:
    prepare(tmp_path, 9, splits=None, seed=3)
    folder = tmp_path / "data" / "MIMIC-IV-9"
    assert lines(folder / "train.txt") == ["03.31 428.0 E888.9\tan admission coded in icd"]
    assert lines(folder / "label_names.tsv") == [
        "03.31\tSpinal tap", "428.0\tCongestive heart failure, unspecified", "E888.9\tUnspecified fall",
    ]  # fmt: skip


def test_minimum_count(tmp_path: Path) -> None:
    prepare(tmp_path, 10, min_count=2)
    assert lines(tmp_path / "data" / "MIMIC-IV" / "labels.txt") == ["02100Z9", "I50.22"]
    assert lines(tmp_path / "data" / "MIMIC-IV" / "test.txt") == ["I50.22\ta test only code"]


def test_minimum_is_counted_on_training_alone(tmp_path: Path) -> None:
    """I50.22 has two training documents and one test document."""
    with pytest.raises(DataError, match="no training document has one of its codes"):
        prepare(tmp_path, 10, min_count=3)
    prepare(tmp_path, 10, min_count=3, min_count_over="all")
    assert lines(tmp_path / "data" / "MIMIC-IV" / "labels.txt") == ["I50.22"]


def test_two_runs_are_alike(tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(tmp_path, 10, out=tmp_path / name)
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_a_renamed_column(tmp_path: Path) -> None:
    hosp, note = write_mimic4(tmp_path, hosp_header=["subject_id", "hadm_id", "seq_num", "icd9_code", "icd_version"])
    with pytest.raises(DataError, match=r"diagnoses_icd\.csv\.gz, line 1: no column icd_code"):
        prepare_mimic(mimic4_source(hosp, note, 10), MimicOptions(tmp_path / "data"))


def test_the_command(tmp_path: Path) -> None:
    hosp, note = write_mimic4(tmp_path)
    where = ["--hosp", str(hosp), "--note", str(note), "--out", str(tmp_path / "data")]
    runner = CliRunner()
    done = runner.invoke(plant, ["prepare", "mimic4", *where, "--subset", "full", "--min_count", "1", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "would be written" in done.output
    assert "no training document has one of its codes" in runner.invoke(plant, ["prepare", "mimic4", *where]).output
    refused = runner.invoke(plant, ["prepare", "mimic4", *where, "--subset", "rare50"])
    assert "a list of ICD-9 codes" in refused.output
    (note / "discharge.csv.gz").unlink()
    assert "the table discharge is missing" in runner.invoke(plant, ["prepare", "mimic4", *where]).output
