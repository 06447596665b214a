"""How many coders shall read a document."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from sqlalchemy import select

from plant_plugin.serving.desk.readers import READERS, SPLIT, ask_further
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.tables import documents


def test_so_many_more_as_are_needed_and_never_fewer_than_wanted_first(desk: Desk) -> None:
    [document] = desk.add_documents([("a", "text")], wanted=2)
    for readers, wanted in ((3, 3), (1, 2), (0, 2)):
        with desk.writes.begin() as connection:
            ask_further(connection, document, readers)
            row = connection.execute(select(READERS, SPLIT).where(documents.c.id == document)).one()
        assert tuple(row) == (wanted, wanted > 2)
