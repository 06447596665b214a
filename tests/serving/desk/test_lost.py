"""What is lost of a desk's file, or moved to who never had it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coded_desk, coder, tampered

from plant_plugin.errors import DataError
from plant_plugin.serving.desk.lost import lost
from plant_plugin.serving.desk.opening import check_file
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.versions import NEWEST, TABLES

CASES = {
    "a line of the table changes, kept for ever, is gone": "DELETE FROM changes WHERE id = 2",
    "a line of the table orders, kept for ever, is gone": "DELETE FROM orders WHERE id = 1",
    "the table orders holds one of who never had the document": "UPDATE orders SET document = 5 WHERE id = 1",
    "the table work has lost what a coder finished": "DELETE FROM work WHERE document = 1 AND coder = 1",
    "the table work holds what no coder finished": "UPDATE work SET finished = 1 WHERE document = 3",
}


@pytest.mark.parametrize("what", CASES)
def test_what_was_lost_is_said(desk: Desk, what: str) -> None:
    """Finished documents were once left out of an export without a word, and so was an order of codes."""
    path, dora = Path(coded_desk(desk).path), coder(desk, "dora")
    four, _ = desk.add_documents([("d", "text"), ("e", "text")])
    code(desk, dora, four, order=["R05"])
    code(desk, dora, 3, order=["R50"])
    check_file(path)
    with closing(sqlite3.connect(path)) as plain:
        assert lost(plain, TABLES[NEWEST]) is None
    with tampered(path, CASES[what]) as plain:
        assert lost(plain, TABLES[NEWEST]) == what
    with pytest.raises(DataError, match=what):
        check_file(path)


def test_an_older_file_has_no_orders_to_lose(desk: Desk) -> None:
    path = coded_desk(desk).path
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("DROP TABLE orders")
        assert lost(plain, TABLES[NEWEST - 1]) is None
