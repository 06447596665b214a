"""How the file of a desk is opened: who may read it, what is refused, and its errors."""

from __future__ import annotations

import os
import sqlite3
import stat
import traceback
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import SECRET, coder

from plant_plugin.errors import DataError, FullDiskError, PlantError
from plant_plugin.serving.desk.backups import restore
from plant_plugin.serving.desk.store import Desk


def test_the_file_is_its_owners_alone(desk: Desk, tmp_path: Path) -> None:
    coder(desk, "one")
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
    assert any(path.name.endswith("-wal") for path in tmp_path.iterdir())


def test_errors_of_the_file_are_sentences_without_what_was_to_be_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(desk.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = Desk(desk.path)  # opening waits for no writer
        with held.writes.connect() as connection:
            connection.connection.driver_connection.execute("PRAGMA busy_timeout = 1")  # type: ignore[union-attr]
        with pytest.raises(PlantError, match="another program holds this file"):
            held.add_documents([("patient7", SECRET)])
        other.rollback()
    pages = sqlite3.connect(desk.path).execute("PRAGMA page_count").fetchone()[0]
    with held.writes.connect() as connection:
        connection.connection.driver_connection.execute(f"PRAGMA max_page_count = {pages}")  # type: ignore[union-attr]
    with pytest.raises(FullDiskError, match="the disk is full") as caught:
        held.add_documents((f"patient{number}", SECRET * 9999) for number in range(9))
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    held.close()


def test_files_that_are_no_desks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Desk(tmp_path / "nothing.sqlite")
    text = tmp_path / "text.sqlite"
    text.write_text("no database at all, but a text that is long enough for a header" * 20)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as plain:
        plain.execute("CREATE TABLE x (y)")
    for path in (text, other):
        before = path.read_bytes()
        for act in (lambda path=path: Desk(path, make=True), lambda path=path: restore(path, tmp_path / "new.sqlite")):
            with pytest.raises(DataError, match="no desk"):
                act()
        assert path.read_bytes() == before
    assert not (tmp_path / "new.sqlite").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_whatever_its_name_the_file_is_the_one_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / "whose?100%41.sqlite"
    for make in (True, False):
        with closing(Desk(path, make=make)) as desk:
            desk.add_documents([("a", SECRET)])
            assert desk.size() == 1
    assert {one.name.partition(".sqlite")[0] for one in tmp_path.iterdir()} == {path.stem}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_cannot_be_read_is_not_called_another_programs(tmp_path: Path) -> None:
    with pytest.raises(PlantError, match="cannot be read or written") as caught:
        Desk(tmp_path)
    assert not isinstance(caught.value, DataError)
