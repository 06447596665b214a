"""What the desk's page gets of a document."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.document import shown
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.store import Decision, Opened


def test_codes_have_names_hints_and_whether_they_are_known() -> None:
    labels = ["E11.9", "E10.9"]
    suggested = {"label": "E11.9", "probability": 0.9, "predicted": True, "spans": []}
    decisions = {label: Decision(label, "add", []) for label in ("E10.9", "X1")}
    opened = Opened(1, "case", "diabetes", [suggested], decisions, "")  # type: ignore[list-item]
    predictor = cast(Predictor, SimpleNamespace(labels=labels))
    content = shown(opened, predictor, Codes(labels, {"E11.9": "diabetes"}.get))
    assert content["text"] == "diabetes"
    assert content["suggested"] == [{**suggested, "name": "diabetes"}]
    assert content["decisions"] == [
        {"label": "E10.9", "kind": "add", "spans": [], "at": 0.0, "name": None, "known": True},
        {"label": "X1", "kind": "add", "spans": [], "at": 0.0, "name": None, "known": False},
    ]
    assert {"E11.9", "E10.9"} <= set(cast(dict[str, object], content["hints"]))
