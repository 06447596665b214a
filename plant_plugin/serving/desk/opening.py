"""How the file of a desk is made, checked and opened; and SQLite's errors in sentences.

Somebody may have sent the file, so that it is looked at before anything in it runs: a view, a trigger, a default or a
check of a stranger's would be a program. A desk holds what :mod:`.tables` makes and nothing else.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event

from plant_plugin.errors import DataError, FullDiskError, PlantError
from plant_plugin.serving.desk.damage import damage
from plant_plugin.serving.desk.tables import APPLICATION, WRITES
from plant_plugin.serving.desk.versions import TABLES, bring_up, objects, objects_of

OLDEST = (3, 37)  # of SQLite: tables that hold only values of their columns' types
SAFE = ("trusted_schema = OFF", "cell_size_check = ON")  # for files that somebody sent
LASTING = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")


def open_file(path: Path, *, make: bool = False) -> Engine:
    """Open the file of a desk, readable only to its owner.

    Args:
        path: The file.
        make: Make it where it is not there.

    Raises:
        DataError: It is not there, or another program's, or another version's.
        PlantError: It cannot be made, or SQLite is too old.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        fix = "use a Python with a newer one, e.g. conda's"
        raise PlantError(f"SQLite {sqlite3.sqlite_version} is older than 3.37", where=str(path), fix=fix)
    if not path.exists():
        if not make:
            raise DataError("no such file", where=str(path), fix="`plant desk add-coder FILE NAME` makes it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            fix = "choose another folder, or change its permissions"
            raise PlantError(f"cannot be made ({error.strerror})", where=str(path), fix=fix) from error
    if not (make and path.stat().st_size == 0):
        check_file(path)
    path.chmod(0o600)  # journals get the permissions of the file
    address = URL.create("sqlite", database=str(path))  # in a plain one a ? would end the file's name
    engine = create_engine(address, connect_args={"timeout": 30.0}, hide_parameters=True)
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begins)
    # What is raised in the place of SQLAlchemy's error, which would show what was to be written.
    event.listen(engine, "handle_error", lambda context: explained(path, context.original_exception))
    bring_up(engine)  # an error comes now where nobody can work on it
    return engine


def check_file(path: Path) -> None:
    """Raise a DataError unless a file is a whole desk of this version, and nothing more than that."""
    fix = "name the file that `plant desk add-coder` made, or restore a backup"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as plain:
            wrong = _wrong(plain)
    except sqlite3.OperationalError as error:  # which says nothing of what is in it
        raise explained(path, error) or error from error
    except (sqlite3.Error, UnicodeError) as error:
        raise DataError(f"this is no desk ({type(error).__name__})", where=str(path), fix=fix) from error
    if wrong:
        raise DataError(wrong, where=str(path), fix=fix)


def _wrong(plain: sqlite3.Connection) -> str | None:
    for pragma in SAFE:
        plain.execute(f"PRAGMA {pragma}")
    program, version = (plain.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if program != APPLICATION or version not in TABLES:
        return "this is no desk of this version"
    wanted, there = objects_of(version), objects(plain)
    if odd := [name for name in {**wanted, **there} if wanted.get(name) != there.get(name)]:
        return f"this is no desk as `plant` makes one: {odd[0][:80]!r} is missing, of another form, or too much"
    return damage(plain, TABLES[version])


def _connected(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, see _begins
    for pragma in (*SAFE, *LASTING):
        connection.execute(f"PRAGMA {pragma}")


def explained(path: Path, error: BaseException) -> PlantError | None:
    """Return an error in a sentence for one of SQLite; None for one that only a caller can explain."""
    if not isinstance(error, sqlite3.DatabaseError):
        return None
    if isinstance(error, sqlite3.IntegrityError):
        if not re.match("CHECK|cannot store", str(error)):
            return None
        return DataError("a value cannot be in a desk", where=str(path), fix="check what you add")
    code = getattr(error, "sqlite_errorname", "")  # from Python 3.11
    if "FULL" in code or "full" in str(error):
        fix = "free some space; what was done before is kept"
        return FullDiskError("the disk is full", where=str(path), fix=fix)
    if "BUSY" in code or "locked" in str(error):
        fix = "wait for the program that writes to it, or end that"
        return PlantError("another program holds this file", where=str(path), fix=fix)
    what = f"cannot be read or written ({code or type(error).__name__})"
    return PlantError(what, where=str(path), fix="check the disk, or restore a backup")


def _begins(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
