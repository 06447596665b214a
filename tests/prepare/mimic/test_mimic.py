from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from made_up_mimic import DIAGNOSES, LISTS, NAMES, NOTES, SUMMARY, TEST, TRAIN, VALID, lines, write_lists, write_mimic3

from plant_plugin.cli import plant
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError, PlantError
from plant_plugin.prepare.mimic.mimic import MimicOptions, mimic3_source, prepare_mimic
from plant_plugin.prepare.output import PROVENANCE


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_mimic3(tmp_path / "raw")


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    return write_lists(tmp_path / "lists")


def prepare(raw: Path, out: Path, **options: Any) -> dict[str, Any]:
    options = {"subsets": ("full",), **options}
    return prepare_mimic(mimic3_source(raw), MimicOptions(out, **options))


def test_every_rule_by_hand(raw: Path, lists: Path, tmp_path: Path) -> None:
    made = prepare(raw, tmp_path / "data", splits=lists)
    folder = tmp_path / "data" / "MIMIC"
    assert lines(folder / "train.txt") == TRAIN
    assert lines(folder / "valid.txt") == VALID
    assert lines(folder / "test.txt") == TEST
    assert lines(folder / "labels.txt") == sorted(
        {label for line in TRAIN + VALID for label in line.split("\t")[0].split()}
    )
    assert lines(folder / "label_names.tsv") == NAMES
    assert made["counts"] == {
        "note_rows": 11,
        "discharge_summaries": 10,
        "addenda": 1,
        "summaries_without_admission": 1,
        "diagnosis_rows": 14,
        "diagnosis_rows_without_code": 1,
        "diagnosis_rows_without_admission": 1,
        "procedure_rows": 4,
        "codes_twice_in_an_admission": 1,
        "admissions_with_codes": 7,
        "admissions_without_codes": 1,
        "admissions_without_summary": 1,
        "admissions_without_text": 1,
        "documents": 5,
        "name_tables_missing": 0,
        "split_ids_without_document": 0,
        "patients_in_two_splits": 1,
    }
    assert made["sets"]["MIMIC"] == {
        "train": 3, "valid": 1, "test": 1, "labels": 10, "labels_in_training": 8, "labels_unseen_in_training": 2,
        "labels_as_caml_reads_them": 8, "labels_without_a_name": 2,
    }  # fmt: skip
    assert len(read_any(folder / "train.txt")) == 3


@pytest.mark.parametrize("variant", [{"zipped": True}, {"line_end": "\r\n"}, {"lower": True}], ids=str)
def test_the_same_from_other_files(variant: dict[str, Any], raw: Path, lists: Path, tmp_path: Path) -> None:
    prepare(raw, tmp_path / "one", splits=lists)
    prepare(write_mimic3(tmp_path / "other", **variant), tmp_path / "two", splits=lists)
    for split in ("train", "valid", "test"):
        one, two = (tmp_path / name / "MIMIC" / f"{split}.txt" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_two_runs_are_alike_to_the_byte_and_in_any_order_of_rows(raw: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        prepare(raw, tmp_path / name, subsets=("full", "top50", "few"))
    files = {path.relative_to(tmp_path / "one"): path for path in (tmp_path / "one").rglob("*") if path.is_file()}
    assert len(files) == 3 * 9
    for name, path in files.items():
        assert path.read_bytes() == (tmp_path / "two" / name).read_bytes()
    turned = write_mimic3(tmp_path / "turned", notes=NOTES[::-1], diagnoses=DIAGNOSES[::-1])
    prepare(turned, tmp_path / "three")
    for split in ("train", "valid", "test"):
        assert lines(tmp_path / "one" / "MIMIC" / f"{split}.txt") == lines(
            tmp_path / "three" / "MIMIC" / f"{split}.txt"
        )


def test_caml_compatible(raw: Path, lists: Path, tmp_path: Path) -> None:
    made = prepare(raw, tmp_path / "data", splits=lists, caml_compatible=True)
    folder = tmp_path / "data" / "MIMIC"
    assert lines(folder / "train.txt") == [
        "038.9 33.1 E888.9 V15.82\tchest pain mg then 250mg said sick stays ___ home addendum to the above",
        "038.9 311 33.1\tfirst of two reports sepsis and shock",
        "038.9 99.1\tnumbers at the end",
    ]
    assert "710.0" in lines(folder / "labels.txt")
    names = dict(line.split("\t") for line in lines(folder / "label_names.tsv"))
    assert names["33.1"] == "Spinal tap; Incision of lung"  # CAML's 33.1 is both
    assert names["99.1"] == "Injection of thrombolytic agent"
    assert made["sets"]["MIMIC"]["labels"] == 8


@pytest.mark.parametrize(
    ("style", "text"),
    [
        ("edin", "chest pain mg then 250mg said sick stays home addendum to the above"),
        ("raw", 'Chest pain, 500 mg then 250mg; said "sick", stays ___ home ADDENDUM to the above'),
    ],
)
def test_styles(style: str, text: str, raw: Path, lists: Path, tmp_path: Path) -> None:
    prepare(raw, tmp_path, splits=lists, style=style)
    assert lines(tmp_path / "MIMIC" / "train.txt")[0].split("\t")[1] == text


def test_lists_are_written_as_caml_writes_them_and_read_back(raw: Path, lists: Path, tmp_path: Path) -> None:
    prepare(raw, tmp_path / "one", splits=lists)
    prepare(raw, tmp_path / "two", splits=tmp_path / "one" / "MIMIC")
    one, two = (json.loads((tmp_path / name / "MIMIC" / PROVENANCE).read_text()) for name in ("one", "two"))
    assert one["split_hash"] == two["split_hash"]
    assert lines(tmp_path / "one" / "MIMIC" / "train_full_hadm_ids.csv") == [str(number) for number in LISTS["train"]]


def test_top50_has_lists_of_its_own(raw: Path, lists: Path, tmp_path: Path) -> None:
    write_lists(lists, {"train": (100, 200), "dev": (600,), "test": (700,)}, kind="50")
    made = prepare(raw, tmp_path, splits=lists, subsets=("full", "top50"))
    assert {name: made["sets"]["MIMIC-50"][name] for name in ("train", "valid", "test")} == {
        "train": 2, "valid": 1, "test": 1,
    }  # fmt: skip
    assert lines(tmp_path / "MIMIC-50" / "dev_50_hadm_ids.csv") == ["600"]


def test_subsets_of_listed_and_rare_codes(raw: Path, lists: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("038.9\n03.31\n999.9\n")
    options = {"splits": lists, "codes": tmp_path / "codes.txt", "few_in_test": True}
    made = prepare(raw, tmp_path, subsets=("top50", "few"), **options)["sets"]
    assert lines(tmp_path / "MIMIC-50" / "train.txt")[1] == "038.9\tfirst of two reports sepsis and shock"
    assert made["MIMIC-50"]["valid_without_a_code_of_the_subset"] == 1
    assert made["MIMIC-50"]["asked_for_codes_without_document"] == 1
    # Of the eight codes with one to five training documents, only 038.9 is in test.
    assert lines(tmp_path / "MIMIC-few" / "labels.txt") == ["038.9"]
    assert json.loads((tmp_path / "MIMIC-few" / PROVENANCE).read_text())["options"]["few_in_test"] is True
    with pytest.raises(DataError, match="--subset rare50: no training document has one of its codes"):
        prepare(raw, tmp_path, subsets=("rare50",))
    rare = write_mimic3(tmp_path / "rare", diagnoses=[*DIAGNOSES, (1, 100, "1710")])
    made = prepare(rare, tmp_path, subsets=("rare50",), splits=lists)["sets"]["MIMIC-rare50"]
    assert lines(tmp_path / "MIMIC-rare50" / "train.txt")[0].startswith("171.0\tchest pain")
    assert (made["train"], made["labels"], made["asked_for_codes_without_document"]) == (1, 1, 49)


def test_provenance(raw: Path, lists: Path, tmp_path: Path) -> None:
    prepare(raw, tmp_path, splits=lists)
    text = (tmp_path / "MIMIC" / PROVENANCE).read_text()
    content = json.loads(text)
    assert [source["name"] for source in content["sources"]] == [
        "NOTEEVENTS.csv", "DIAGNOSES_ICD.csv", "PROCEDURES_ICD.csv", "D_ICD_DIAGNOSES.csv", "D_ICD_PROCEDURES.csv",
        "train_full_hadm_ids.csv", "dev_full_hadm_ids.csv", "test_full_hadm_ids.csv",
    ]  # fmt: skip
    assert content["sources"][0]["bytes"] == (raw / "NOTEEVENTS.csv").stat().st_size
    assert len(content["sources"][0]["sha256"]) == 64
    assert content["options"]["style"] == "caml"
    assert content["counts"]["documents"] == 5
    for secret in ("sepsis", '"100"', " 600", " 700", str(tmp_path)):
        assert secret not in text


def test_without_the_tables_of_names(raw: Path, lists: Path, tmp_path: Path) -> None:
    (raw / "D_ICD_PROCEDURES.csv").unlink()
    made = prepare(raw, tmp_path / "one", splits=lists)
    assert made["counts"]["name_tables_missing"] == 1
    assert made["sets"]["MIMIC"]["labels_without_a_name"] == 5
    assert lines(tmp_path / "one" / "MIMIC" / "label_names.tsv") == [name for name in NAMES if name[2] != "."]
    (raw / "D_ICD_DIAGNOSES.csv").unlink()
    arguments = ["--raw", str(raw), "--splits", str(lists), "--out", str(tmp_path / "two"), "--subset", "full"]
    done = CliRunner().invoke(plant, ["prepare", "mimic3", *arguments])
    assert done.exit_code == 0, done.output
    assert "note: 2 tables of what codes stand for are missing (D_ICD_*" in done.output
    assert "name tables missing" not in done.output
    assert not (tmp_path / "two" / "MIMIC" / "label_names.tsv").exists()


def test_a_table_of_names_that_was_saved_by_a_spreadsheet(raw: Path, tmp_path: Path) -> None:
    write_mimic3(raw, procedure_names=[("9910", "x"), ("51", "zeros are gone")])
    with pytest.raises(
        DataError, match=r"D_ICD_PROCEDURES\.csv, line 3: ICD9_CODE holds a code that was read as a num"
    ):
        prepare(raw, tmp_path / "data")


def test_a_dry_run_tells_the_same_counts_and_writes_nothing(raw: Path, lists: Path, tmp_path: Path) -> None:
    told = prepare(raw, tmp_path / "none", splits=lists, dry_run=True, subsets=("full", "top50"))
    assert not (tmp_path / "none").exists()
    assert told == prepare(raw, tmp_path / "data", splits=lists, subsets=("full", "top50"))


def test_nothing_appears_when_it_fails_late(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "data"
    prepare(raw, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    monkeypatch.setattr("plant_plugin.prepare.mimic.mimic.write_provenance", full_disk)
    with pytest.raises(PlantError, match="No space left"):
        prepare(raw, out, style="raw")
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    with pytest.raises(PlantError, match="No space left"):
        prepare(raw, tmp_path / "fresh")
    assert not (tmp_path / "fresh").exists()


def test_other_files_of_the_folder_stay(raw: Path, tmp_path: Path) -> None:
    prepare(raw, tmp_path)
    (tmp_path / "MIMIC" / "embeddings.txt").write_text("kept")
    prepare(raw, tmp_path)
    assert (tmp_path / "MIMIC" / "embeddings.txt").read_text() == "kept"


def test_memory_does_not_grow_with_other_notes(tmp_path: Path) -> None:
    nursing = [(1, 100, "2101-01-01", "Nursing", "Report", "x" * 1000)]
    peaks = []
    for number in (2000, 6000):
        raw = write_mimic3(tmp_path / str(number), notes=NOTES + nursing * number)
        tracemalloc.start()
        prepare(raw, tmp_path / f"out{number}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 500_000  # 4 MB more of other notes passed by


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["prepare", "mimic3", *map(str, arguments)])


def test_the_command(raw: Path, lists: Path, tmp_path: Path) -> None:
    done = invoke("--raw", raw, "--out", tmp_path / "data", "--splits", lists, "--subset", "top50, full")
    assert done.exit_code == 0, done.output
    assert "note: 1 patients have admissions in two splits" in done.output
    assert "sepsis" not in done.output
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["MIMIC", "MIMIC-50"]
    assert "none of full" in invoke("--raw", raw, "--out", tmp_path, "--subset", "top5").output


def broken(tmp_path: Path, **tables: Any) -> Path:
    return write_mimic3(tmp_path / "broken", **tables)


@pytest.mark.parametrize("code", ["38.9", "4.1E+2", "41"])
def test_codes_read_as_numbers(code: str, tmp_path: Path) -> None:
    raw = broken(tmp_path, diagnoses=[(1, 100, "4019"), (1, 100, code)])
    with pytest.raises(
        DataError, match=r"DIAGNOSES_ICD\.csv, line 3: ICD9_CODE holds a code that was read as a number"
    ):
        prepare(raw, tmp_path / "data")


@pytest.mark.parametrize("value", ["12e4", "x1", "100.5", "100.0", "-7"])
def test_an_id_that_is_no_number(value: str, tmp_path: Path) -> None:
    raw = broken(tmp_path, notes=[(1, value, "2101", SUMMARY, "Report", "secret text")])
    with pytest.raises(DataError, match=r"NOTEEVENTS\.csv, line 2: HADM_ID is not a whole number") as caught:
        prepare(raw, tmp_path / "data")
    assert value not in str(caught.value).replace(str(tmp_path), "")  # pytest numbers its folders


def test_no_document_is_left(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no training document is left"):
        prepare(broken(tmp_path, notes=[]), tmp_path / "data")
