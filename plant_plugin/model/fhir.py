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
from plant_plugin.model.code_systems import as_code
from plant_plugin.model.explanation import LabelEvidence
from plant_plugin.model.known_words import NOTHING_KNOWN
from plant_plugin.model.passages import Passage
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.model.scored_label import Hint

DIGITS = 6  # of probabilities: more says nothing
STATUS = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
OURS = "urn:plant-plugin:fhir"  # what FHIR has no element for
SUGGESTION = {"system": f"{OURS}:origin", "code": "machine-suggestion", "display": "Suggested by a machine"}


def bundles(pairs: Iterable[tuple[Document, Prediction]], stream: IO[str], predictor: Predictor, system: str) -> None:
    """Write a line for each document: a Bundle of the type ``collection``, without entries where it has no labels."""
    for document, prediction in pairs:
        bundle: dict[str, object] = {"resourceType": "Bundle", "type": "collection"}
        if not prediction.tokens:
            bundle["meta"] = {"tag": [{"system": f"{OURS}:state", "code": "unknown", "display": NOTHING_KNOWN}]}
        if document.name:
            bundle["identifier"] = {"system": f"{OURS}:document", "value": document.name}
        if labels := [label.label for label in prediction.labels]:  # an empty list is no FHIR
            bundle["entry"] = [
                {"fullUrl": f"urn:uuid:{uuid.uuid4()}", "resource": _condition(label, system)}
                for label in predictor.explain(document.text, labels).labels
            ]
        stream.write(json.dumps(bundle, ensure_ascii=False) + "\n")


def _condition(explained: LabelEvidence, system: str) -> dict[str, object]:
    label = explained.scored
    code = {"system": system, "code": as_code(label.label, system)}
    named = {} if label.name is None else {"display": label.name}
    return {
        "resourceType": "Condition",
        "meta": {"tag": [SUGGESTION]},
        "extension": [
            {"url": f"{OURS}:probability", "valueDecimal": round(label.probability, DIGITS)},
            *(_evidence(passage) for passage in explained.passages),
            *(_hint(hint) for hint in label.hints),
        ],
        "verificationStatus": {"coding": [{"system": STATUS, "code": "unconfirmed"}]},
        "code": {"coding": [code | named]},
        "subject": {"extension": [{"url": ABSENT, "valueCode": "unknown"}]},
    }


def _evidence(passage: Passage) -> dict[str, object]:
    parts = [
        {"url": "start", "valueInteger": passage.start},
        {"url": "end", "valueInteger": passage.end},
        {"url": "score", "valueDecimal": round(float(passage.score), DIGITS)},
    ]
    return {"url": f"{OURS}:evidence", "extension": parts}


def _hint(hint: Hint) -> dict[str, object]:
    parts: list[dict[str, object]] = [
        {"url": "rule", "valueCode": hint["rule"]},
        {"url": "text", "valueString": hint["text"]},
    ]
    parts += [{"url": "code", "valueCode": code} for code in hint.get("codes", ())]
    if "start" in hint:
        parts += [{"url": "start", "valueInteger": hint["start"]}, {"url": "end", "valueInteger": hint["end"]}]
    return {"url": f"{OURS}:hint", "extension": parts}
