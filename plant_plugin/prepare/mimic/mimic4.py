"""MIMIC-IV 2.2 and 3.x: ``hosp/diagnoses_icd``, ``hosp/procedures_icd`` and ``note/discharge``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.prepare.mimic.mimic import CodeTable, MimicSource
from plant_plugin.prepare.mimic.notes import Note
from plant_plugin.prepare.mimic.tables import find_table, read_id, read_table

FOLDERS = {10: "MIMIC-IV", 9: "MIMIC-IV-9"}
COLUMNS = ("subject_id", "hadm_id", "note_type", "note_seq", "text")
ADDENDUM = "AD"


def mimic4_source(hosp: Path, note: Path, icd: int) -> MimicSource:
    """The tables of the two folders; the codes of one version, 9 or 10.

    Raises:
        DataError: A table is missing.
    """
    names = {"diagnosis": "diagnoses_icd", "procedure": "procedures_icd"}
    tables = tuple(
        CodeTable(find_table(hosp, name), kind, "subject_id", "hadm_id", "icd_code", "icd_version")
        for kind, name in names.items()
    )
    notes = find_table(note, "discharge")
    return MimicSource("prepare mimic4", FOLDERS[icd], icd, tables, notes, mimic4_notes, {"icd": icd})


def mimic4_notes(path: Path, counts: Counter[str]) -> Iterator[Note]:
    """Discharge summaries of admissions, then their addenda, by sequence number."""
    for line, (patient, admission, kind, sequence, text) in read_table(path, COLUMNS):
        counts["discharge_summaries"] += 1
        number = read_id(admission, "hadm_id", path, line, counts)
        subject = read_id(patient, "subject_id", path, line, counts)
        if number is None or subject is None:
            counts["summaries_without_admission"] += 1
            continue
        addendum = kind.strip().upper() == ADDENDUM
        counts["addenda"] += addendum
        yield Note(subject, number, (addendum, read_id(sequence, "note_seq", path, line, counts) or 0), text)
