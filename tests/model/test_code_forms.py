from __future__ import annotations

import pytest

from plant_plugin.model.code_forms import CASED, FORMS, TELLING, fitting_systems


@pytest.mark.parametrize(
    ("labels", "first"),
    [(["C16.0"], "icd-o-3"), (["C81.0"], "sid/icd-10"), (["I10", "C16.0"], "sid/icd-10"), (["E11.90"], "icd-10-gm"),
     (["5-470.11", "8-98f"], "bfarm/ops"), (["A10BA02"], "whocc.no/atc"), (["C14.907", "D003920"], "nih.gov/mesh"),
     (["250.00"], "icd-9-cm"), (["S52.501A"], "icd-10-cm")],
)  # fmt: skip
def test_the_narrowest_form_comes_first(labels: list[str], first: str) -> None:
    assert fitting_systems(labels)[0].endswith(first)


def test_what_is_of_no_system() -> None:
    assert fitting_systems([]) == fitting_systems(["I10", "38341003"]) == fitting_systems(["sepsis"]) == []


def test_every_system_that_is_told_has_a_form() -> None:
    assert {address.removeprefix("http://").lower() for address in TELLING} <= FORMS.keys()
    assert FORMS.keys() >= CASED
    assert {
        FORMS[address.removeprefix("http://").lower()]
        for address in TELLING
        if "snomed" in address or "loinc" in address
    } == {TELLING["http://snomed.info/sct"], TELLING["http://loinc.org"]}
