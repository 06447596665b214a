from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import coded_desk, tampered

from plant_plugin.errors import DataError
from plant_plugin.serving.desk.damage import damage
from plant_plugin.serving.desk.opening import check_file
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.versions import NEWEST, TABLES

CASES = {
    "document 1 is not what was added": "UPDATE documents SET text = replace(text, 'Fever', 'Never') WHERE id = 1",
    "document 2 is not what was added": "UPDATE documents SET name = 'x' WHERE id = 2",
}


@pytest.mark.parametrize("what", CASES)
def test_what_was_lost_is_said(desk: Desk, what: str) -> None:
    """Finished documents were once left out of an export without a word."""
    path = Path(coded_desk(desk).path)
    check_file(path)
    with tampered(path, CASES[what]) as plain:
        assert damage(plain, TABLES[NEWEST]) == what
    with pytest.raises(DataError, match=what) as refused:
        check_file(path)
    assert "secretpatient" not in str(refused.value)


def test_taken_back_and_finished_again_is_whole(desk: Desk) -> None:
    who = coded_desk(desk).people.named("ana")
    for key in ("key-undo-1", "key-undo-2", "key-undo-3"):
        desk.undo(who, key, None)
        check_file(Path(desk.path))


def test_a_schema_of_no_text_is_no_desk(desk: Desk) -> None:
    path = Path(coded_desk(desk).path)
    desk.close()
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA journal_mode = DELETE")
    content = path.read_bytes()
    place = content.index(b"CREATE TABLE coders") + 13
    path.write_bytes(content[:place] + b"\xc5" + content[place + 1 :])
    with pytest.raises(DataError, match="this is no desk"):
        check_file(path)
