from __future__ import annotations

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.codes import Code, alike, codes_in, compiled


@pytest.mark.parametrize(
    ("note", "codes"),
    [
        ("E11.9; R05, I10", "E11.9 R05 I10"),
        ("E11.9;R05|I10", "E11.9 R05 I10"),
        ("E11.9 R05\tI10", "E11.9 R05 I10"),
        ("E11.9/R05 & I10.", "E11.9 R05 I10"),
        ("(E11.9), [R05]", "E11.9 R05"),
        ("E11.9 main problem", "E11.9"),
        ("main problem: E11.9, then R05 (cough)", "E11.9 R05"),
        ("diabetes type 2 since 2019, E119", "E119"),
        ("A17.0+ G01*", "A17.0 G01"),
        ("e11.9", "e11.9"),
        ("401", "401"),
        ("250.00 and V45.81, E849.7", "250.00 V45.81 E849.7"),
        ("M1A.0 H1N1", "M1A.0 H1N1"),
        ("0DTJ4ZZ was done", "0DTJ4ZZ"),
        ("5-470.11", "5-470.11"),
        ("E10-E14", "E10-E14"),
        ("D003920; C0011849", "D003920 C0011849"),
        ("SNOMED: 38341003 hypertension", "SNOMED:38341003"),
        ("ICD10:E11.9 ICD-10: I10", "ICD10:E11.9 ICD-10:I10"),
        ("ICD-10 E11.9 (sure)", "ICD-10:E11.9"),
        ("ICD-10-CM: E11.9 and R05", "ICD-10-CM:E11.9 R05"),
        ("R05: 2 days; I10: for years", "R05 I10"),
        ("MeSH:D003920, x", "MeSH:D003920"),
        ("E11.9 (ICD10)", "E11.9"),
        ("E11.9 (ICD-10)", "E11.9"),
        *((words, "") for words in ("which year", "", "ask him", "see 3", "on 2019-05-03", "2019-05-03", "covid19",
                                    "2nd visit", "vitamin B12 is low", "fracture of T12", "after H1N1", "HLA-B27")),
    ],
)  # fmt: skip
def test_codes_in_notes(note: str, codes: str) -> None:
    assert [code.label() for code in codes_in(note)] == codes.split()


def test_a_pattern_says_what_a_code_is() -> None:
    assert codes_in("x7, code y8", compiled("[a-z][0-9]")) == [Code("x7"), Code("y8")]
    assert codes_in("code y8, year 9", compiled("code ([a-z][0-9])")) == [Code("y8")]
    assert compiled(None) is None
    with pytest.raises(DataError, match="--code-pattern: no regular expression"):
        compiled("[a-")


def test_a_spelling_of_two_terminologies() -> None:
    codes = [Code("401", ("ICD9",)), Code("401", ("ICD10",)), Code("I10", ("ICD-10",)), Code("I10", ("icd10",))]
    assert alike([*codes, Code("R05"), Code("R05", ("ICD10",))]) == {"401"}
    assert codes[0].label() == "ICD9:401"


def test_a_long_note_takes_no_long_time() -> None:
    for note in (
        "A" * 300_000,
        "a-" * 150_000,
        ", " * 150_000 + ":",
        "1" * 300_000,
        "A1." * 100_000 + "!",
        "ICD " * 99_999,
    ):
        assert len(codes_in(note)) < 2
