"""What the desk's page gets of a document."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.document_page import hints_of, readings, shown
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.order import OrderQuestion, put_in_order
from plant_plugin.serving.desk.store import Decision, Desk, Opened, Suggested

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


def test_codes_have_names_hints_and_whether_they_are_known(coded: Desk) -> None:
    labels = ["E11.9", "E10.9"]
    suggested = {"label": "E11.9", "probability": 0.9, "predicted": True, "spans": []}
    decisions = {label: Decision(label, "add", []) for label in ("E10.9", "X1")}
    opened = Opened(1, "case", "diabetes", [suggested], decisions, "")  # type: ignore[list-item]
    predictor = cast(Predictor, SimpleNamespace(labels=labels))
    content = shown(coded, coded.people.named("ana"), opened, predictor, Codes(labels, {"E11.9": "diabetes"}.get))
    assert content["text"] == "diabetes"
    assert content["suggested"] == [{**suggested, "name": "diabetes"}]
    assert content["decisions"] == [
        {"label": "E10.9", "kind": "add", "spans": [], "at": 0.0, "name": None, "known": True},
        {"label": "X1", "kind": "add", "spans": [], "at": 0.0, "name": None, "known": False},
    ]
    assert {"E11.9", "E10.9"} <= set(cast(dict[str, object], content["hints"]))
    assert (content["remarks"], content["orders"]) == ([], {})
    assert "readings" not in content


def test_a_lead_sees_what_others_said_with_names_and_their_orders(coded: Desk) -> None:
    lea, ana = coded.people.named("lea"), coded.people.named("ana")
    coded.undo(ana, "key-back", 1)
    put_in_order(coded.writes, ana, OrderQuestion(key="key-order", document=1, labels=["R50", "R05"]))
    coded.finish(ana, "key-again", 1)
    opened = Opened(1, "case", "", None, {}, "")
    model = cast(Predictor, SimpleNamespace(labels=["R50", "R05"]))
    codes = Codes(["R50", "R05"], {"R50": "Fever"}.get)
    content = cast(Any, shown(coded, lea, opened, model, codes))
    assert [(one["label"], one["name"], one["known"]) for one in content["readings"]] == [
        ("R50", "Fever", True), ("Z99.9", None, False), ("R05", None, True),
    ]  # fmt: skip
    assert content["orders"] == {"ana": ["R50", "R05"]}
    assert shown(coded, coded.people.named("berta"), opened, model, codes)["orders"] == {}


def test_both_sides_of_each_code_those_first_on_which_coders_are_split(coded: Desk) -> None:
    lea, ana = coded.people.named("lea"), coded.people.named("ana")
    found = readings(coded, 1, lea)
    assert [(one["label"], one["split"]) for one in found] == [("R50", True), ("Z99.9", True), ("R05", False)]
    assert found[0]["by"] == [
        {"coder": "ana", "kind": "accept", "spans": [(0, 5)]},
        {"coder": "berta", "kind": "reject", "spans": []},
    ]
    assert [one["kind"] for one in found[1]["by"]] == ["", "add"]
    assert [one["coder"] for one in readings(coded, 1, ana)[0]["by"]] == ["berta"]
    assert readings(coded, 3, lea) == []  # nobody has finished it


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
