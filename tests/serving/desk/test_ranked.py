"""The order that counts."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coder

from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.ranked import SPLIT, ranked, ranks, same_principals
from plant_plugin.serving.desk.store import Decision, Desk

PEOPLE = {1: Coder(1, "ana", "coder"), 2: Coder(2, "berta", "coder"), 3: Coder(3, "lea", "lead")}


def test_the_principal_code_of_more_than_half_then_the_mean_place() -> None:
    labels = ["A", "B", "C", "D"]
    assert ranks(PEOPLE, {}, labels) == ranks(PEOPLE, {1: []}, labels) == {}
    assert ranks(PEOPLE, {1: ["C", "A"]}, labels) == {"C": 1, "A": 2, "B": 3, "D": 4}
    assert ranks(PEOPLE, {1: ["C", "A", "D"], 2: ["C", "D", "B"]}, labels) == {"C": 1, "D": 2, "A": 3, "B": 4}
    assert ranks(PEOPLE, {1: ["C", "A"], 2: ["X", "C"]}, labels) == {"C": 1, "A": 2, "B": 3, "D": 4}  # X does not count
    assert ranks(PEOPLE, {1: ["C"], 2: ["A"]}, labels) is None
    assert ranks(PEOPLE, {1: ["C"], 2: ["A"], 3: ["B"]}, labels) == {"B": 1, "A": 2, "C": 3, "D": 4}


def test_codes_of_a_document_in_order_and_how_coders_agree(desk: Desk) -> None:
    ana, berta, lea = coder(desk, "ana"), coder(desk, "berta"), coder(desk, "lea", "lead")
    one, two = desk.add_documents([("a", "text"), ("b", "text")], wanted=2)
    said = [Decision(label, "add", []) for label in "ABC"]
    for who, document, order in ((ana, one, "BAC"), (berta, one, "BCA"), (ana, two, "AB"), (berta, two, "BA")):
        code(desk, who, document, *said, order=list(order))

    def found() -> dict[int, list[tuple[int | None, str]]]:
        return {number: [(rank, each.label) for rank, each in labels] for number, _, labels in ranked(desk, counts)}

    counts = Counter[str]()
    assert found() == {one: [(1, "B"), (2, "A"), (3, "C")], two: [(None, "A"), (None, "B"), (None, "C")]}
    assert counts == {SPLIT: 1}
    code(desk, lea, two, order=["B", "C"])
    counts = Counter[str]()
    assert found()[two] == [(1, "B"), (2, "C"), (3, "A")]
    assert counts == {}
    assert same_principals(desk) == [{"first": "ana", "second": "berta", "documents": 2, "agreed": 1}]
