"""What each coder said, side by side."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.readings import named_readings, readings
from plant_plugin.serving.desk.store import Desk


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


def test_with_names_and_whether_the_code_is_known(coded: Desk) -> None:
    found = named_readings(coded, 1, coded.people.named("lea"), Codes(["R50", "R05"], {"R50": "Fever"}.get))
    assert [(one["label"], one["name"], one["known"]) for one in found] == [
        ("R50", "Fever", True), ("Z99.9", None, False), ("R05", None, True),
    ]  # fmt: skip
