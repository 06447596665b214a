"""Whose word counts."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision
from plant_plugin.serving.desk.voices import heard

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
