"""MIMIC-III v1.4: ``NOTEEVENTS``, ``DIAGNOSES_ICD`` and ``PROCEDURES_ICD``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.prepare.mimic.mimic import CodeTable, MimicSource
from plant_plugin.prepare.mimic.notes import Note
from plant_plugin.prepare.mimic.tables import find_table, read_id, read_table

SUMMARY = "discharge summary"
ADDENDUM = "addendum"
COLUMNS = ("SUBJECT_ID", "HADM_ID", "CATEGORY", "DESCRIPTION", "CHARTDATE", "ROW_ID", "TEXT")


def mimic3_source(raw: Path) -> MimicSource:
    """The tables of a folder.

    Raises:
        DataError: A table is missing.
    """
    names = {"diagnosis": "DIAGNOSES_ICD", "procedure": "PROCEDURES_ICD"}
    tables = tuple(
        CodeTable(find_table(raw, name), kind, "SUBJECT_ID", "HADM_ID", "ICD9_CODE") for kind, name in names.items()
    )
    return MimicSource("prepare mimic3", "MIMIC", 9, tables, find_table(raw, "NOTEEVENTS"), mimic3_notes, {})


def mimic3_notes(path: Path, counts: Counter[str]) -> Iterator[Note]:
    """Discharge summaries of admissions; reports come before addenda, then by date and row."""
    rows = 0
    for line, (patient, admission, category, description, date, row, text) in read_table(path, COLUMNS):
        rows += 1
        if category.strip().lower() != SUMMARY:
            continue
        counts["discharge_summaries"] += 1
        number = read_id(admission, "HADM_ID", path, line, counts)
        subject = read_id(patient, "SUBJECT_ID", path, line, counts)
        if number is None or subject is None:
            counts["summaries_without_admission"] += 1
            continue
        addendum = description.strip().lower() == ADDENDUM
        counts["addenda"] += addendum
        note = read_id(row, "ROW_ID", path, line, counts) or 0
        yield Note(subject, number, (addendum, date, note), text, note)
    counts["note_rows"] = rows
