"""Accepted codes in FHIR."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coder

from plant_plugin.serving.desk.accepted import accepted
from plant_plugin.serving.desk.accepted_fhir import bundles
from plant_plugin.serving.desk.store import Decision, Desk


def written(desk: Desk) -> list[Any]:
    """The Bundles of a desk, which are valid FHIR."""
    found = [json.loads(line) for line in bundles(list(accepted(desk, Counter())), "urn:codes").splitlines()]
    bundle = pytest.importorskip("fhir.resources.R4B.bundle", reason="needs fhir.resources").Bundle
    for one in found:
        bundle.model_validate(one)
    return found


def test_fhir_is_confirmed_by_a_coder_at_a_time(coded: Desk) -> None:
    found = written(coded)
    assert [one["identifier"]["value"] for one in found] == ["a", "b"]
    [entry] = found[0]["entry"]
    condition = entry["resource"]
    assert condition["code"]["coding"] == [{"system": "urn:codes", "code": "R05"}]
    assert condition["verificationStatus"]["coding"][0]["code"] == "confirmed"
    assert condition["recorder"] == {"display": "ana, berta"}
    places = condition["extension"][0]["extension"]
    assert [place.get("valueInteger") for place in places] == [11, 16]


def test_an_encounter_has_the_order_of_codes(desk: Desk) -> None:
    who, [document] = coder(desk, "ana"), desk.add_documents([("a", "fever and cough")])
    code(desk, who, document, Decision("R05", "add", []), Decision("R50", "add", []), order=["R50", "R05"])
    [bundle] = written(desk)
    conditions = {one["fullUrl"]: one["resource"] for one in bundle["entry"]}
    encounter = conditions.pop(bundle["entry"][0]["fullUrl"])
    assert encounter["resourceType"] == "Encounter"
    ranks = {one["rank"]: conditions[one["condition"]["reference"]] for one in encounter["diagnosis"]}
    assert {rank: one["code"]["coding"][0]["code"] for rank, one in ranks.items()} == {1: "R50", 2: "R05"}


def test_a_code_that_the_desk_does_not_know_is_no_code_of_a_system(desk: Desk) -> None:
    given = [Decision("R05", "add", []), Decision("fever!", "add", [])]
    desk.import_coded(coder(desk, "ana"), [("a", "fever and cough", given)], unknown={"fever!"})
    [bundle] = written(desk)
    codes = [entry["resource"]["code"] for entry in bundle["entry"]]
    assert codes == [{"coding": [{"system": "urn:codes", "code": "R05"}]}, {"text": "fever!"}]
