"""Rules of ICD-10-CM, each by an example that its own text names."""

from __future__ import annotations

import subprocess
import sys

import pytest
import simple_icd_10_cm as icd

from plant_plugin.model.coding_rules import CodingRules, rules_for
from plant_plugin.model.scored_label import Hint
from plant_plugin.model.sides import Side

RULES = CodingRules()


def hints(*labels: str, **said: list[Side]) -> dict[str, list[Hint]]:
    return RULES.hints(labels, {label.replace("_", "."): sides for label, sides in said.items()})


def rules(label: str, *others: str) -> list[str]:
    return [hint["rule"] for hint in hints(label, *others)[label]]


def test_a_heading_cannot_be_billed() -> None:
    [hint] = [hint for hint in hints("E11")["E11"] if hint["rule"] == "not_billable"]
    assert hint["codes"] == icd.get_children("E11")
    assert hint["text"] == "cannot be billed: E11.0 to E11.A say more"
    assert rules("I10") == []


def test_a_seventh_character_is_missing() -> None:
    """S72: "The appropriate 7th character is to be added to all codes from category S72"."""
    assert "7th character" in icd.get_seven_chr_note("S72")
    [hint] = hints("S72.001")["S72.001"]
    assert hint["rule"] == "seventh_character"
    assert hint["text"].startswith("the seventh character is missing: A, initial encounter for closed fracture; B, ")
    assert "S72.001A" in hint["codes"]
    assert rules("S72.001A") == []


def test_places_may_be_filled_where_the_seventh_character_is_missing() -> None:
    """As CodiEsp writes its codes."""
    for label in ("S02.0XX", "s02.0xx", "W19.XXX"):
        assert rules(label)[0] == "seventh_character"
    assert "S02.0XXA" in hints("S02.0XX")["S02.0XX"][0].get("codes", [])


def test_a_code_that_is_not_in_the_release() -> None:
    assert rules("I10.9") == ["unknown"]
    assert "simple-icd-10-cm" in hints("I10.9")["I10.9"][0]["text"]


def test_what_is_no_code_has_no_hints() -> None:
    assert hints("fever", "0BJ08ZZ", "E10.9") == {"E10.9": []}


def test_codes_that_exclude_each_other() -> None:
    """E11 has Excludes1: "type 1 diabetes mellitus (E10.-)"."""
    assert "type 1 diabetes mellitus (E10.-)" in icd.get_excludes1("E11")
    found = hints("E11.65", "E10.9", "I10")
    [hint] = [hint for hint in found["E10.9"] if hint["rule"] == "excludes1"]
    assert hint["codes"] == ["E11.65"]
    assert hint["text"].startswith("not beside E11.65, unless the two are unrelated: Excludes1 of E1")
    assert [hint["codes"] for hint in found["E11.65"] if hint["rule"] == "excludes1"] == [["E10.9"]]
    assert found["I10"] == []


def test_a_block_excludes_for_its_codes() -> None:
    """K50-K52 has Excludes1: "irritable bowel syndrome (K58.-)"."""
    assert "irritable bowel syndrome (K58.-)" in icd.get_excludes1("K50-K52")
    [hint] = hints("K51.90", "K58.0")["K58.0"]
    assert "Excludes1 of K50-K52, irritable bowel syndrome (K58.-)" in hint["text"]


def test_codes_of_one_heading_are_not_excluded_by_its_notes() -> None:
    assert "excludes1" not in rules("E11.65", "E11.9")


def test_another_side_than_the_words_say() -> None:
    """Guidelines I.B.13; S72.001A is of the right femur."""
    assert "right femur" in icd.get_description("S72.001A")
    left = [Side("left", 10, 14)]
    [hint] = hints("S72.001A", S72_001A=left)["S72.001A"]
    assert hint["text"] == "the code says right, the words that speak for it say left"
    assert (hint["rule"], hint["start"], hint["end"]) == ("laterality", 10, 14)
    assert hints("S72.001A", S72_001A=[*left, Side("right", 3, 8)])["S72.001A"] == []
    assert hints("S72.009A", S72_009A=left)["S72.009A"] == []  # no side: unspecified
    assert RULES.sided("s72.001a")
    assert not RULES.sided("fever")


def test_both_sides() -> None:
    """Guidelines I.B.13: where no code is bilateral, one of each side stands for both."""
    both = [Side("bilateral", 0, 4)]
    assert hints("M79.604", "M79.605", M79_604=both)["M79.604"] == []
    assert [hint["rule"] for hint in hints("M79.604", M79_604=both)["M79.604"]] == ["laterality"]
    assert hints("H25.13", H25_13=[Side("right", 0, 5), Side("left", 9, 13)])["H25.13"] == []
    assert [hint["rule"] for hint in hints("H25.13", H25_13=[Side("right", 0, 5)])["H25.13"]] == ["laterality"]


def test_code_first() -> None:
    """D63.1: "Code first underlying chronic kidney disease (CKD) (N18.-)"."""
    assert icd.get_code_first("D63.1") == "underlying chronic kidney disease (CKD) (N18.-)"
    [alone] = hints("D63.1")["D63.1"]
    assert alone == {"rule": "code_first", "text": "code first underlying chronic kidney disease (CKD) (N18.-)"}
    [after] = hints("D63.1", "N18.30")["D63.1"]
    assert after == {"rule": "code_first", "text": "after N18.30, which is coded first", "codes": ["N18.30"]}


def test_code_also() -> None:
    """J44: "Code also type of asthma, if applicable (J45.-)"."""
    assert icd.get_code_also("J44") == "type of asthma, if applicable (J45.-)"
    assert [hint["text"] for hint in hints("J44.9")["J44.9"] if hint["rule"] == "code_also"] == [
        "code also type of asthma, if applicable (J45.-)"
    ]
    assert "code_also" not in rules("J44.9", "J45.909")


def test_use_additional_code() -> None:
    """E11: "Use additional code to identify control using: … insulin (Z79.4) …"."""
    assert "insulin (Z79.4)" in icd.get_use_additional_code("E11")
    [hint] = hints("E11.9")["E11.9"]
    assert hint["rule"] == "use_additional_code"
    assert hint["text"].startswith(
        "use additional code to identify control using: injectable non-insulin antidiabetic drugs (Z79.85); insulin"
    )
    assert rules("E11.9", "Z79.4") == []


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ("I10 E11.9 S72.001A", True),
        ("i10 e11.9", True),  # all may be assigned
        ("I10 E11.9 Z87.891 0BJ08ZZ 0DTJ4ZZ", True),  # with procedures
        ("S02.0XX I10 M54.5", True),  # one is only a heading, and one has no seventh character
        ("I10 C50.9", False),  # WHO's ICD-10 has both, and ICD-10-CM only a heading
        ("C16.0 C18.7", False),  # ICD-O's topography
        ("I10.90 E11.90 J18.9", False),  # ICD-10-GM
        ("401.9 250.00 V45.81", False),
        ("D003920 D006973", False),
        ("fever cough", False),
        ("", False),
    ],
)
def test_labels_that_rules_are_known_for(labels: str, known: bool) -> None:
    assert (rules_for(tuple(labels.split())) is not None) == known


def test_other_labels_do_not_load_the_list() -> None:
    program = (
        "import sys; from plant_plugin.model.coding_rules import rules_for; "
        "rules_for(('D003920', 'fever', '401.9')); print('simple_icd_10_cm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
