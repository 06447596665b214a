"""An older version of the file, brought up to the newest."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import coded_desk, lines

from plant_plugin.errors import DataError
from plant_plugin.serving.desk.backups import restore
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.versions import NEWEST, TABLES, objects, objects_of


def as_version_2(desk: Desk) -> None:
    """What a desk of version 2 left."""
    desk.close()
    with closing(sqlite3.connect(desk.path)) as plain:
        plain.execute("DROP TABLE remarks")
        plain.execute("DROP TABLE orders")
        plain.execute("PRAGMA user_version = 2")


def test_a_desk_of_the_version_before_is_brought_up_and_keeps_all(desk: Desk, tmp_path: Path) -> None:
    before = lines(coded_desk(desk))
    as_version_2(desk)
    restore(desk.path, tmp_path / "again.sqlite")
    for path in (desk.path, tmp_path / "again.sqlite"):
        with closing(Desk(path)) as opened:
            assert lines(opened) == before
            assert len(list(opened.finished())) == 2
        with closing(sqlite3.connect(path)) as plain:
            assert plain.execute("PRAGMA user_version").fetchone() == (NEWEST,)
            assert objects(plain) == objects_of(NEWEST)
        Desk(path).close()


def test_each_version_has_all_of_the_one_before() -> None:
    for version in range(2, NEWEST):
        assert set(TABLES[version]) < set(TABLES[version + 1])
        assert objects_of(version).items() <= objects_of(version + 1).items()


@pytest.mark.parametrize(
    "statement", ["PRAGMA user_version = 3", "PRAGMA user_version = 1", "CREATE TABLE remarks (x)"]
)
def test_a_file_that_is_not_what_its_version_says_is_refused(desk: Desk, statement: str) -> None:
    as_version_2(desk)
    with closing(sqlite3.connect(desk.path)) as plain:
        plain.execute(statement)
        plain.commit()
    with pytest.raises(DataError, match="this is no desk"):
        Desk(desk.path)


@pytest.mark.parametrize("table", ["changes", "remarks", "orders"])
def test_lines_are_kept_for_ever(desk: Desk, table: str) -> None:
    coded_desk(desk)
    desk.import_coded(desk.people.named("ana"), [], unknown=())
    with closing(sqlite3.connect(desk.path)) as plain:
        if table == "remarks":
            plain.execute("INSERT INTO remarks VALUES (1, 1, 1, 'key', 0.0, 'unknown', 'X1', NULL, NULL)")
        if table == "orders":
            plain.execute("INSERT INTO orders VALUES (1, 1, 1, 'key', 0.0, 'A B')")
        for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET at = 1.0"):
            with pytest.raises(sqlite3.IntegrityError, match="kept for ever"):
                plain.execute(statement)
