"""What the file of a desk defines, by version; an older one is brought up to the newest when it is opened.

A version only adds tables to the one before it, so that nothing of an old file has to be written anew.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache

from sqlalchemy import Connection, Engine, create_engine

from plant_plugin.serving.desk.order import orders
from plant_plugin.serving.desk.remarks import remarks
from plant_plugin.serving.desk.tables import APPLICATION, WRITES, metadata

NEWEST = 4
TABLES = {  # by SQLite's user_version; a version has all but those that came later
    NEWEST - len(later): [table for table in metadata.sorted_tables if table not in later]
    for later in ((), (orders,), (remarks, orders))
}
KEPT = {"changed": "UPDATE", "removed": "DELETE"}  # what lines do not become, for they are kept for ever
TRIGGER = """CREATE TRIGGER IF NOT EXISTS {0}_are_not_{1} BEFORE {2} ON {0}
BEGIN SELECT RAISE(ABORT, '{0} are kept for ever'); END"""
WORD = re.compile(r"\w+|[^\w\s\"`]")


def bring_up(engine: Engine) -> None:
    """Make what the newest version has and a file, new or of an older version, has not."""
    with engine.connect() as connection:
        if _version(connection) == NEWEST:
            return
    with engine.execution_options(**{WRITES: True}).begin() as connection:
        if _version(connection) < NEWEST:  # no other process was faster
            _make(connection, NEWEST)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            connection.exec_driver_sql(f"PRAGMA user_version = {NEWEST}")


def _version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _make(connection: Connection, version: int) -> None:
    metadata.create_all(connection, TABLES[version])
    for table in TABLES[version]:
        for name, act in KEPT.items() if "key" in table.c else ():  # what somebody sent
            connection.exec_driver_sql(TRIGGER.format(table, name, act))


@cache
def objects_of(version: int) -> dict[str, list[str]]:
    """Return what a desk of a version defines, as :func:`objects` does of a file."""
    with create_engine("sqlite://").connect() as connection:
        _make(connection, version)
        return objects(connection.connection.driver_connection)  # type: ignore[arg-type]  # of SQLite


def objects(plain: sqlite3.Connection) -> dict[str, list[str]]:
    """Return all that a file defines, as the words of its definitions: another SQLAlchemy may set them otherwise."""
    asked = "SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master ORDER BY type DESC, name"
    return {name: sorted(WORD.findall(definition)) for name, definition in plain.execute(asked)}
