"""Extensions of FHIR by themselves; whole documents are in ``test_fhir.py``."""

from __future__ import annotations

from plant_plugin.model.fhir_extensions import evidence, hint_of
from plant_plugin.model.passages import Passage


def test_evidence_is_a_place_and_a_score() -> None:
    extension = evidence(Passage(3, 9, 0.12345678, before=0, after=12))
    assert extension["url"] == "urn:plant-plugin:fhir:evidence"
    assert extension["extension"] == [
        {"url": "start", "valueInteger": 3},
        {"url": "end", "valueInteger": 9},
        {"url": "score", "valueDecimal": 0.123457},
    ]


def test_a_hint_has_the_codes_and_the_word_that_it_is_about() -> None:
    extension = hint_of({"rule": "excludes1", "text": "not with I11", "codes": ["I11"], "start": 2, "end": 5})
    assert extension["extension"] == [
        {"url": "rule", "valueCode": "excludes1"},
        {"url": "text", "valueString": "not with I11"},
        {"url": "code", "valueCode": "I11"},
        {"url": "start", "valueInteger": 2},
        {"url": "end", "valueInteger": 5},
    ]
    assert len(hint_of({"rule": "unknown", "text": "no such code"})["extension"]) == 2  # type: ignore[arg-type]
