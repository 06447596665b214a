"""Made-up tables with MIMIC's columns. Each row is there for one rule; the tests name the row."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

NOTE_HEADER = "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT".split(
    ","
)
NAME_HEADER = ["ROW_ID", "ICD9_CODE", "SHORT_TITLE", "LONG_TITLE"]
CODE_HEADER = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"]
SUMMARY = "Discharge summary"

# (patient, admission, date, category, description, text)
Note = tuple[object, object, str, str, str, str]
NOTES: list[Note] = [
    (1, 100, "2101-01-09", SUMMARY, "Addendum", "ADDENDUM to the above"),  # stands before what it adds to
    (1, 100, "2101-01-08", SUMMARY, "Report", 'Chest pain, 500 mg then 250mg; said "sick",\nstays\t___ home'),
    (1, 100, "2101-01-08", "Nursing", "Report", "nursing notes are not read"),
    (1, 101, "2101-05-01", SUMMARY, "Report", "second stay\r\nof the same patient"),
    (2, 200, "2102-01-01", SUMMARY, "Report", "sepsis and shock"),
    (2, 200, "2101-12-30", SUMMARY, "Report", "first of two reports"),  # the earlier date comes first
    (3, 300, "2103-01-01", SUMMARY, "Report", "no codes for this one"),
    (4, 400, "2104-01-01", SUMMARY, "Report", " 12 34 -- \n"),  # nothing left of the text
    (5, "", "2105-01-01", SUMMARY, "Report", "no admission"),
    (6, 600, "2106-01-01", SUMMARY, "Report", "numbers 1 2 at the end 3"),
    (7, 700, "2107-01-01", SUMMARY, "Report", "only in test"),
]
DIAGNOSES = [
    (1, 100, "0389"), (1, 100, "V1582"), (1, 100, "E8889"), (1, 100, "0389"),  # one twice
    (1, 101, "4019"), (2, 200, "0389"), (2, 200, "311"), (4, 400, "4019"), (6, 600, "0389"), (6, 600, ""),
    (7, 700, "0389"), (7, 700, "7100"), (8, 800, "4019"), (9, "", "4019"),  # 800 has no note
]  # fmt: skip
PROCEDURES = [(1, 100, "0331"), (2, 200, "331"), (6, 600, "9910"), (6, 600, "991")]
# (code, long title); 7100 and 991 are in neither table.
DIAGNOSIS_NAMES = [
    ("0389", "Unspecified septicemia"), ("4019", "Unspecified  essential hypertension"), ("E8889", "Unspecified fall"),
    ("V1582", "Personal history of tobacco use"), ("311", 'Depressive disorder, "not elsewhere classified"'),
    ("25000", "in no document"),
]  # fmt: skip
PROCEDURE_NAMES = [("0331", "Spinal tap"), ("331", "Incision of lung"), ("9910", "Injection of thrombolytic agent")]

LISTS = {"train": (100, 200, 600), "dev": (101,), "test": (700,)}
# The lines that follow from the rows above, by hand.
TRAIN = [
    "03.31 038.9 E888.9 V15.82\tchest pain mg then 250mg said sick stays home addendum to the above",
    "038.9 311 33.1\tfirst of two reports sepsis and shock",
    "038.9 99.1 99.10\tnumbers at the end",
]
VALID = ["401.9\tsecond stay of the same patient"]
TEST = ["038.9 710.0\tonly in test"]
NAMES = [
    "03.31\tSpinal tap",
    "038.9\tUnspecified septicemia",
    '311\tDepressive disorder, "not elsewhere classified"',
    "33.1\tIncision of lung",
    "401.9\tUnspecified essential hypertension",
    "99.10\tInjection of thrombolytic agent",
    "E888.9\tUnspecified fall",
    "V15.82\tPersonal history of tobacco use",
]


def table(header: Sequence[str], rows: Iterable[Sequence[object]], line_end: str = "\n") -> str:
    """CSV as MIMIC has it: texts in quotes, numbers not."""
    stream = io.StringIO()
    csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator=line_end).writerows([header, *rows])
    return stream.getvalue()


def write_mimic3(
    folder: Path,
    *,
    notes: Sequence[Note] = NOTES,
    diagnoses: Sequence[Sequence[object]] = DIAGNOSES,
    procedures: Sequence[Sequence[object]] = PROCEDURES,
    diagnosis_names: Sequence[tuple[str, str]] = DIAGNOSIS_NAMES,
    procedure_names: Sequence[tuple[str, str]] = PROCEDURE_NAMES,
    line_end: str = "\n",
    zipped: bool = False,
    lower: bool = False,
) -> Path:
    """The five tables of a made-up MIMIC-III."""
    note_rows = [
        (row, patient, admission, date, "", "", category, description, "", "", text)
        for row, (patient, admission, date, category, description, text) in enumerate(notes, 1)
    ]
    tables = {
        "NOTEEVENTS": (NOTE_HEADER, note_rows),
        "DIAGNOSES_ICD": (CODE_HEADER, [(n, p, a, 1, code) for n, (p, a, code) in enumerate(diagnoses)]),
        "PROCEDURES_ICD": (CODE_HEADER, [(n, p, a, 1, code) for n, (p, a, code) in enumerate(procedures)]),
        "D_ICD_DIAGNOSES": (
            NAME_HEADER,
            [(n, code, name[:24], name) for n, (code, name) in enumerate(diagnosis_names)],
        ),
        "D_ICD_PROCEDURES": (
            NAME_HEADER,
            [(n, code, name[:24], name) for n, (code, name) in enumerate(procedure_names)],
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (header, rows) in tables.items():
        content = table([name.lower() for name in header] if lower else header, rows, line_end).encode()
        path = folder / (name.lower() if lower else name)
        path.with_suffix(".csv.gz" if zipped else ".csv").write_bytes(gzip.compress(content) if zipped else content)
    return folder


def write_lists(folder: Path, lists: dict[str, Sequence[object]] | None = None, kind: str = "full") -> Path:
    """CAML's split lists."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, ids in (lists or LISTS).items():
        (folder / f"{split}_{kind}_hadm_ids.csv").write_text("".join(f"{number}\n" for number in ids))
    return folder


def lines(path: Path) -> list[str]:
    """A file's lines, cut at line ends alone."""
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
