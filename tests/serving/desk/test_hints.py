"""Hints by the rules for codes, for what is decided so far."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.hints import hints_of
from plant_plugin.serving.desk.store import Decision, Opened, Suggested

TEXT = "fracture of the left femur and of the right femur, diabetes"
LEFT, RIGHT = [(0, 8)], [(31, 49)]  # "fracture" with "of the left" behind it; "of the right femur"


def coder(labels: str) -> Predictor:
    return cast(Predictor, SimpleNamespace(labels=labels.split()))


def suggested(label: str, spans: list[tuple[int, int]] | None = None, *, predicted: bool = True) -> Suggested:
    return {"label": label, "probability": 0.9, "predicted": predicted, "spans": spans or []}


def opened(*labels: Suggested, **decisions: Any) -> Opened:
    said = {label.replace("_", "."): Decision(label.replace("_", "."), *kind) for label, kind in decisions.items()}
    return Opened(1, "case", TEXT, list(labels), said, "")


def rules(document: Opened, labels: str = "E11.9 E10.9 S72.001A") -> dict[str, list[str]]:
    found = hints_of(document, coder(labels))
    return {label: [hint["rule"] for hint in hints] for label, hints in found.items()}


def test_a_pair_is_told_until_one_of_it_is_rejected() -> None:
    pair = suggested("E11.9"), suggested("E10.9")
    assert rules(opened(*pair))["E10.9"] == ["excludes1"]
    assert rules(opened(*pair, E10_9=("reject", []))) == {"E11.9": ["use_additional_code"]}
    assert rules(opened(pair[0], suggested("E10.9", predicted=False))) == {"E11.9": ["use_additional_code"]}
    assert rules(opened(pair[0], E10_9=("add", [])))["E10.9"] == ["excludes1"]


def test_words_that_a_coder_marked_come_before_the_model_s() -> None:
    model = suggested("S72.001A", LEFT)  # of the right femur
    assert rules(opened(model)) == {"S72.001A": ["laterality"]}
    assert rules(opened(model, S72_001A=("accept", []))) == {"S72.001A": ["laterality"]}
    assert rules(opened(model, S72_001A=("accept", RIGHT))) == {}
    assert rules(opened(S72_001A=("add", LEFT))) == {"S72.001A": ["laterality"]}


def test_other_labels_have_no_hints() -> None:
    assert rules(opened(suggested("L3")), "L3 L4") == {}
