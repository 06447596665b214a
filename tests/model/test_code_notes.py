"""Codes that notes of the tabular list name; the notes are its own."""

from __future__ import annotations

import pytest
import simple_icd_10_cm as icd

from plant_plugin.model.code_notes import PARENTHESES, RANGE, named_codes, names

NOTES = [
    ("type 1 diabetes mellitus (E10.-)", "E10.9 E10", "E11.9 E1"),
    ("gestational diabetes (O24.4-)", "O24.410", "O24.5 O24"),
    ("hypertensive disease complicating pregnancy (O10-O11, O13-O16)", "O10.02 O11.9 O16.1", "O12.0 O17"),
    ("dominant hand (A23.0-A23.9)", "A23.0 A23.9", "A23 A24.0"),
    ("facial weakness following cerebrovascular disease (I69. with final characters -92)", "I69.392", "I69.391 I70.92"),
    ("Charcôt's joint in diabetes mellitus (E08-E13 with .610)", "E11.610", "E11.61 E11.618 E14.610"),
    ("diabetic (peripheral) angiopathy (E08-E13 with .51-.52)", "E11.51 E13.52", "E11.59"),
    ("to identify drug (T36-T50 with fifth or sixth character 5)", "T36.0X5A T38.3X5", "T36.0X1A T51.0X5A"),
    ("poisoning (T36-T65 with fifth or sixth character 1-4)", "T36.0X1A T65.94", "T36.0X5A T65.4"),
    ("concussion (S06.0X- with seventh character A)", "S06.0X1A", "S06.0X1S"),
    ("memory loss due to psychoactive substances (F10-F19 with 5th character .6)", "F10.26", "F10.20"),
    ("open fracture (S52.- with open fracture 7th character)", "", "S52.501B S52"),  # cannot be read: names none
    ("postprocedural disorders (P28.3- - P28.4-)", "P28.30 P28.41", "P28.5"),
    ("rheumatoid lung (M05.00 to M05.8A)", "M05.10", "M05.9"),
    ("injury of wrist - see injury by site", "", "S60.0"),
]


@pytest.mark.parametrize(("note", "those", "others"), NOTES, ids=[note for note, *_ in NOTES])
def test_which_codes_a_note_names(note: str, those: str, others: str) -> None:
    assert [code for code in those.split() if not names(note, code)] == []
    assert [code for code in others.split() if names(note, code)] == []


def test_nearly_all_notes_with_codes_can_be_read() -> None:
    """Every code in parentheses begins a range that the list has: nothing is read into words."""
    unread, read = set(), 0
    for owner in icd.get_all_codes(with_dots=True):
        for note in (*icd.get_excludes1(owner), icd.get_code_first(owner), icd.get_code_also(owner)):
            found = named_codes(note)
            read += len(found)
            assert all(named.first[: len(named.last)] <= named.last for named in found), note
            if not found and any(RANGE.search(inside) for inside in PARENTHESES.findall(note)):
                unread.add(note)
    assert read > 5000
    assert len(unread) < 10, unread
