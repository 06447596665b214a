"""Which labels count, and who gave them."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from desk_coding import TEXT, code, coder

from plant_plugin.serving.desk.outcome import SPLIT, heard, settled
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk


def test_more_than_half_of_the_coders_or_the_leads_word(coded: Desk) -> None:
    counts = Counter[str]()
    found = {number: labels for number, _, labels in settled(coded, counts)}
    assert [(one.label, [name for name, _ in one.by], one.spans) for one in found[1]] == [
        ("R05", ["ana", "berta"], [(11, 16)])
    ]
    assert [(one.label, [name for name, _ in one.by], one.spans) for one in found[2]] == [("R50", ["lea"], [(0, 5)])]
    assert counts == {SPLIT: 2}


def test_what_a_lead_does_not_touch_stays_as_the_coders_agreed(desk: Desk) -> None:
    ana, berta, lea = coder(desk, "ana"), coder(desk, "berta"), coder(desk, "lea", "lead")
    [document] = desk.add_documents([("a", TEXT)], wanted=2)
    code(desk, ana, document, Decision("R05", "accept", [(11, 16)]), Decision("R50", "accept", []))
    code(desk, berta, document, Decision("R05", "accept", []), Decision("R21", "add", []))

    def given() -> dict[str, list[str]]:
        [(_, _, labels)] = settled(desk, counts)
        return {one.label: [name for name, _ in one.by] for one in labels}

    counts = Counter[str]()
    assert given() == {"R05": ["ana", "berta"]}
    assert counts[SPLIT] == 2
    code(desk, lea, document, Decision("R50", "accept", []), Decision("R21", "reject", []))
    counts = Counter[str]()
    assert given() == {"R05": ["ana", "berta"], "R50": ["lea"]}
    assert counts[SPLIT] == 0


PEOPLE = {1: Coder(1, "ana", "coder"), 2: Coder(2, "berta", "coder"), 3: Coder(3, "lea", "lead")}


def said(**kinds: str) -> dict[str, Decision]:
    return {label: Decision(label, kind, []) for label, kind in kinds.items()}


def test_a_leads_word_counts_alone_where_there_is_one_and_else_that_of_all_coders() -> None:
    by = [(1, "", said(A="accept", B="accept")), (2, "", said(B="reject", C="add")), (3, "", said(B="accept", D="add"))]
    voices = {label: [voice and (voice[0], voice[1].kind) for voice in one] for label, one in heard(PEOPLE, by).items()}
    assert voices == {
        "A": [("ana", "accept"), None],
        "B": [("lea", "accept")],
        "C": [("berta", "add"), None],
        "D": [("lea", "add")],
    }


def test_a_lead_alone() -> None:
    assert [len(one) for one in heard(PEOPLE, [(3, "", said(A="accept"))]).values()] == [1]
    assert heard(PEOPLE, []) == {}
