"""Accepted codes in FHIR R4: a Bundle of Conditions for each document, confirmed, with who and when.

Where coders put the codes in order the Bundle begins with an Encounter: its diagnoses have the order as their rank, and
rank 1 is the principal one. Source: HL7 FHIR R4 (4.0.1), resources Bundle, Condition and Encounter.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence

from plant_plugin.model.code_systems import as_code, system_of
from plant_plugin.model.fhir import ABSENT, OURS, STATUS
from plant_plugin.serving.desk.ranked import Accepted

UNKNOWN = {"extension": [{"url": ABSENT, "valueCode": "unknown"}]}
BILLING = {"system": "http://terminology.hl7.org/CodeSystem/diagnosis-role", "code": "billing", "display": "Billing"}


def bundles(coded: Sequence[tuple[str, Sequence[Accepted]]], system: str | None) -> str:
    """Return a line for each document, of its own id and its codes; ``system``: of codes that do not say it.

    Raises:
        ConfigError: The codes do not say which code system they are of.
    """
    codes = sorted({one.code for _, each in coded for one in each if one.known})
    address = system_of(codes, system) if codes else ""
    return "".join(f"{json.dumps(_bundle(*one, address), ensure_ascii=False)}\n" for one in coded)


def _bundle(document: str, codes: Sequence[Accepted], system: str) -> dict[str, object]:
    bundle: dict[str, object] = {"resourceType": "Bundle", "type": "collection"}
    bundle["identifier"] = {"system": f"{OURS}:document", "value": document}
    if codes:  # an empty list is no FHIR
        resources = {f"urn:uuid:{uuid.uuid4()}": _condition(one, system) for one in codes}
        ranks = {address: one.rank for address, one in zip(resources, codes, strict=True) if one.rank}
        if ranks:
            resources = {f"urn:uuid:{uuid.uuid4()}": _encounter(ranks), **resources}
        bundle["entry"] = [{"fullUrl": address, "resource": resource} for address, resource in resources.items()]
    return bundle


def _encounter(ranks: Mapping[str, int]) -> dict[str, object]:
    """Return the stay that a document is of, of which only the order of its diagnoses is known."""
    return {
        "resourceType": "Encounter",
        "status": "unknown",
        "class": UNKNOWN,
        "diagnosis": [
            {"condition": {"reference": address}, "use": {"coding": [BILLING]}, "rank": rank}
            for address, rank in ranks.items()
        ],
    }


def _condition(one: Accepted, system: str) -> dict[str, object]:
    evidence = [
        {
            "url": f"{OURS}:evidence",
            "extension": [{"url": "start", "valueInteger": start}, {"url": "end", "valueInteger": end}],
        }
        for start, end in one.spans
    ]
    return {
        "resourceType": "Condition",
        **({"extension": evidence} if evidence else {}),
        "verificationStatus": {"coding": [{"system": STATUS, "code": "confirmed"}]},
        # What the desk does not know as a code is no code of a system, only the words that the coder typed.
        "code": {"coding": [{"system": system, "code": as_code(one.code, system)}]}
        if one.known
        else {"text": one.code},
        "subject": UNKNOWN,
        "recordedDate": one.time,
        "recorder": {"display": one.coder},
    }
