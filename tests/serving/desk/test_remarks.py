"""What is said beside decisions."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder

from plant_plugin.serving.desk.remarks import unknown
from plant_plugin.serving.desk.store import Decision, Desk


def test_an_unknown_code_is_written_once_with_its_decision(desk: Desk) -> None:
    who = coder(desk, "ana")
    [document] = desk.add_documents([("a", "text")])
    desk.next(who, "sent", MODEL)
    for _ in range(2):  # it is sent again
        desk.decide(who, "key-00001", document, Decision("X1", "add", []), known=False)
    desk.decide(who, "key-00002", document, Decision("R05", "add", []))
    with desk.reads.begin() as connection:
        assert unknown(connection) == {(document, "X1")}
    with closing(sqlite3.connect(desk.path)) as plain:
        assert plain.execute("SELECT coder, document, key, kind, label FROM remarks").fetchall() == [
            (who.id, document, "key-00001", "unknown", "X1")
        ]


@pytest.mark.parametrize(
    "values",
    ["'unknown', NULL, NULL, NULL", "'comment', NULL, NULL, NULL", "'given', NULL, NULL, NULL",
     "'unsure', 'R05', 'a text', NULL", "'else', NULL, NULL, NULL"],
)  # fmt: skip
def test_the_file_refuses_what_no_desk_writes(desk: Desk, values: str) -> None:
    coder(desk, "ana")
    desk.add_documents([("a", "text")])
    with closing(sqlite3.connect(desk.path)) as plain, pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        plain.execute(f"INSERT INTO remarks VALUES (1, 1, 1, 'key', 0.0, {values})")
