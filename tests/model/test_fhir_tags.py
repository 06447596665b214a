"""Tags of a Bundle: what a machine that reads it has to know of all labels."""

from __future__ import annotations

import pytest

from plant_plugin.model.fhir_tags import meta_of
from plant_plugin.model.predictor import Prediction

READ, UNKNOWN = Prediction([], 3, False), Prediction([], 0, False)


def test_without_a_promise_only_unknown_words_are_said() -> None:
    assert meta_of(READ, None) == {}
    [tag] = meta_of(UNKNOWN, None)["meta"]["tag"]  # type: ignore[index]
    assert (tag["system"], tag["code"]) == ("urn:plant-plugin:fhir:state", "unknown")


@pytest.mark.parametrize(
    ("promised", "display"),
    [
        ("promise 0.9", "90% of a document's true labels are listed, on average"),
        ("accept 0.98", "98% of the labels that are listed are true"),
    ],
)
def test_a_promise_is_said_by_its_name_and_in_words(promised: str, display: str) -> None:
    tag = {"system": "urn:plant-plugin:fhir:promise", "code": promised, "display": display}
    assert meta_of(READ, promised) == {"meta": {"tag": [tag]}}
    assert meta_of(UNKNOWN, promised)["meta"]["tag"][1] == tag  # type: ignore[index]
