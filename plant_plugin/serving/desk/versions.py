"""What the file of a desk defines, by version; an older one is brought up to the newest when it is opened.

A version only adds tables to the one before it, so that nothing of an old file has to be written anew.
"""

from __future__ import annotations

import re
import sqlite3
from functools import cache
from typing import cast

from sqlalchemy import Connection, Engine, create_engine

from plant_plugin.serving.desk.remarks import remarks
from plant_plugin.serving.desk.tables import APPLICATION, WRITES, changes, metadata

ALL = metadata.sorted_tables
TABLES = {2: [table for table in ALL if table is not remarks], 3: ALL}  # by SQLite's user_version
NEWEST = max(TABLES)
KEPT = {"changed": "UPDATE", "removed": "DELETE"}  # what lines do not become, for they are kept for ever
TRIGGER = """CREATE TRIGGER IF NOT EXISTS {table}_are_not_{name} BEFORE {act} ON {table}
BEGIN SELECT RAISE(ABORT, '{table} are kept for ever'); END"""
WORD = re.compile(r"\w+|[^\w\s\"`]")


def bring_up(engine: Engine) -> None:
    """Make what the newest version has and a file, new or of an older version, has not."""
    with engine.connect() as connection:
        if _version(connection) == NEWEST:
            return
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if _version(connection) < NEWEST:  # no other process was faster
            _make(connection, NEWEST)
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            connection.exec_driver_sql(f"PRAGMA user_version = {NEWEST}")


def _version(connection: Connection) -> int:
    return int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())


def _make(connection: Connection, version: int) -> None:
    metadata.create_all(connection, TABLES[version])
    for table in (changes, remarks):
        for name, act in KEPT.items() if table in TABLES[version] else ():
            connection.exec_driver_sql(TRIGGER.format(table=table.name, name=name, act=act))


@cache
def objects_of(version: int) -> dict[str, list[str]]:
    """Return what a desk of a version defines, as :func:`objects` does of a file."""
    with create_engine("sqlite://").connect() as connection:
        _make(connection, version)
        return objects(cast(sqlite3.Connection, connection.connection.driver_connection))


def objects(plain: sqlite3.Connection) -> dict[str, list[str]]:
    """Return all that a file defines, as the words of its definitions: another SQLAlchemy may set them otherwise."""
    rows = plain.execute("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_master ORDER BY type DESC, name")
    return {name: sorted(WORD.findall(definition)) for name, definition in rows}
