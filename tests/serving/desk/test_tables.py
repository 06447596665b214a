"""What the tables of a desk let nobody do."""

from __future__ import annotations

import sqlite3

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, SECRET, coder

from plant_plugin.errors import DataError
from plant_plugin.serving.desk.store import Decision, Desk

WRONG = {  # what the file itself refuses, whoever writes it
    "a type": "UPDATE documents SET wanted = 'two'",
    "a date": "UPDATE documents SET date = 'tomorrow'",
    "a count": "UPDATE documents SET wanted = 0",
    "a role": "UPDATE coders SET role = 'owner'",
    "a token": "UPDATE coders SET token = 'secret'",
    "a time": "UPDATE work SET until = 'for ever'",
    "a state": "UPDATE work SET finished = 2",
    "a kind": "INSERT INTO changes (coder, document, key, at, kind) VALUES (1, 1, 'k', 0, 'agree')",
    "no label": "INSERT INTO changes (coder, document, key, at, kind) VALUES (1, 1, 'k', 0, 'accept')",
    "no place": "INSERT INTO changes (coder, document, key, at, kind, label, spans) VALUES (1,1,'k',0,'add','L','{}')",
    "an undo of nothing": "INSERT INTO changes (coder, document, key, at, kind) VALUES (1, 1, 'k', 0, 'undo')",
}


def test_changes_can_be_neither_changed_nor_removed(desk: Desk) -> None:
    who = coder(desk, "one")
    desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    with sqlite3.connect(desk.path) as plain:
        for statement in ("UPDATE changes SET kind = 'add'", "DELETE FROM changes"):
            with pytest.raises(sqlite3.IntegrityError, match="for ever"):
                plain.execute(statement)


@pytest.mark.parametrize("wrong", WRONG)
def test_values_that_no_desk_writes_are_refused(desk: Desk, wrong: str) -> None:
    who = coder(desk, "one")
    desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    with sqlite3.connect(desk.path) as plain, pytest.raises(sqlite3.IntegrityError, match=r"CHECK|cannot store"):
        plain.execute(WRONG[wrong])


def test_what_cannot_be_written_is_said_in_a_sentence_without_the_value(desk: Desk) -> None:
    with pytest.raises(DataError, match="a value cannot be in a desk") as caught:
        desk.add_documents([("a", SECRET)], date=SECRET)
    assert SECRET not in str(caught.value)
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    desk.decide(who, "key-00001", document, Decision("R50", "accept", [(0, 1)]))
    with sqlite3.connect(desk.path) as plain:
        plain.execute("DROP TRIGGER changes_are_not_changed")
        plain.execute("UPDATE changes SET spans = '[[0]]' WHERE kind = 'accept'")
    for act in (
        lambda: desk.opened(who, document, MODEL),
        lambda: desk.finish(who, "key-00002", document) or list(desk.finished()),
    ):
        with pytest.raises(DataError, match="no desk writes"):
            act()
