"""Predictions in FHIR R4: a document is a Bundle of Conditions that a machine suggests and nobody has confirmed.

The addresses used here are explained in docs/new_documents.md. No text is written: evidence is its place, in
characters. Source: HL7 FHIR R4 (4.0.1), resources Bundle and Condition.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import IO

from plant_plugin.data.tables import Document
from plant_plugin.model.back_off import codes_open, explained
from plant_plugin.model.code_systems import as_code
from plant_plugin.model.explanation import LabelEvidence
from plant_plugin.model.fhir_extensions import DIGITS as DIGITS  # where its users look for it
from plant_plugin.model.fhir_extensions import OURS as OURS
from plant_plugin.model.fhir_extensions import evidence, hint_of
from plant_plugin.model.fhir_tags import meta_of
from plant_plugin.model.predictor import Prediction, Predictor

STATUS = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
SUGGESTION = {"system": f"{OURS}:origin", "code": "machine-suggestion", "display": "Suggested by a machine"}


def bundles(
    pairs: Iterable[tuple[Document, Prediction]],
    stream: IO[str],
    predictor: Predictor,
    system: str,
    promised: str | None = None,
) -> None:
    """Write a line for each document: a Bundle of the type ``collection``, without entries where it has no labels."""
    for document, prediction in pairs:
        bundle = {"resourceType": "Bundle", "type": "collection"} | meta_of(prediction, promised)
        if document.name:
            bundle["identifier"] = {"system": f"{OURS}:document", "value": document.name}
        if prediction.labels:  # an empty list is no FHIR
            bundle["entry"] = [
                {"fullUrl": f"urn:uuid:{uuid.uuid4()}", "resource": _condition(label, system)}
                for label in explained(predictor, document.text, prediction.labels)
            ]
        stream.write(json.dumps(bundle, ensure_ascii=False) + "\n")


def _condition(label_evidence: LabelEvidence, system: str) -> dict[str, object]:
    label = label_evidence.scored
    code = {"system": system, "code": as_code(label.label, system)}
    named = {} if label.name is None else {"display": label.name}
    return {
        "resourceType": "Condition",
        "meta": {"tag": [SUGGESTION]},
        "extension": [
            {"url": f"{OURS}:probability", "valueDecimal": round(label.probability, DIGITS)},
            *({"url": f"{OURS}:open", "valueCode": as_code(code, system)} for code in codes_open(label)),
            *map(evidence, label_evidence.passages),
            *map(hint_of, label.hints),
        ],
        "verificationStatus": {"coding": [{"system": STATUS, "code": "unconfirmed"}]},
        "code": {"coding": [code | named]},
        "subject": {"extension": [{"url": ABSENT, "valueCode": "unknown"}]},
    }
