"""How many coders shall read a document."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from sqlalchemy import select

from plant_plugin.serving.desk.splits import READERS, SPLIT, ask_further, margins
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.tables import documents


def test_so_many_more_as_are_needed_and_never_fewer_than_wanted_first(desk: Desk) -> None:
    [document] = desk.add_documents([("a", "text")], wanted=2)
    for readers, wanted in ((3, 3), (1, 2), (0, 2)):
        with desk.writes.begin() as connection:
            ask_further(connection, document, readers)
            row = connection.execute(select(READERS, SPLIT).where(documents.c.id == document)).one()
        assert tuple(row) == (wanted, wanted > 2)


def test_more_than_half_give_a_label_and_half_are_split() -> None:
    assert margins([["a", "b"], ["a"], ["a", "c"]]) == {"a": 3, "b": -1, "c": -1}
    assert margins([["a", "b"], ["a"]]) == {"a": 2, "b": 0}
    assert margins([[], []]) == {}
