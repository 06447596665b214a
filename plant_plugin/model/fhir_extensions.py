"""Extensions of a Condition in FHIR: places of evidence, and hints; their addresses are in docs/new_documents.md."""

from __future__ import annotations

from plant_plugin.model.passages import Passage
from plant_plugin.model.scored_label import Hint

DIGITS = 6  # of probabilities: more says nothing
OURS = "urn:plant-plugin:fhir"  # what FHIR has no element for


def evidence(passage: Passage) -> dict[str, object]:
    """Return the extension that says where a text speaks for a code."""
    parts = [
        {"url": "start", "valueInteger": passage.start},
        {"url": "end", "valueInteger": passage.end},
        {"url": "score", "valueDecimal": round(float(passage.score), DIGITS)},
    ]
    return {"url": f"{OURS}:evidence", "extension": parts}


def hint_of(hint: Hint) -> dict[str, object]:
    """Return the extension of what a rule says of a code."""
    parts: list[dict[str, object]] = [
        {"url": "rule", "valueCode": hint["rule"]},
        {"url": "text", "valueString": hint["text"]},
    ]
    parts += [{"url": "code", "valueCode": code} for code in hint.get("codes", ())]
    if "start" in hint:
        parts += [{"url": "start", "valueInteger": hint["start"]}, {"url": "end", "valueInteger": hint["end"]}]
    return {"url": f"{OURS}:hint", "extension": parts}
