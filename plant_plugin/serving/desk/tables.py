"""Tables of the file of a desk, and how it is opened.

The table of changes is the truth: each line stays for ever, which the file itself enforces. ``work`` says the same in
short, so that the next document is found at once; both are written in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
)

from plant_plugin.errors import DataError, FullDiskError, PlantError

APPLICATION, VERSION = 0x504C4E54, 1  # SQLite's application_id and user_version of such a file
WRITES = "writes"  # execution option: the transaction takes the file's one lock for writers when it begins
OPEN, ACCEPT, REJECT, ADD, DONE, UNDO = "open", "accept", "reject", "add", "done", "undo"
DECISIONS = (ACCEPT, REJECT, ADD)

metadata = MetaData()

documents = Table(
    "documents", metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),  # of name and text: what is sent twice is there once
    Column("name", Text, nullable=False),  # what the sender calls it
    Column("text", Text, nullable=False),
    Column("date", Text, nullable=False),  # of the document, YYYY-MM-DD
    Column("wanted", Integer, nullable=False),  # how many coders shall read it
    Column("uncertainty", Float),  # of the model that served last, in nats; NULL: it has not read it
    Index("documents_by_date", "date", "id"),
)  # fmt: skip
Index("documents_by_uncertainty", documents.c.uncertainty.desc(), documents.c.id)
suggestions = Table(
    "suggestions", metadata,
    Column("document", ForeignKey("documents.id"), primary_key=True),
    Column("model", Text, primary_key=True),  # hash of the model's files
    Column("labels", Text, nullable=False),  # JSON, as of :class:`.store.Suggested`
)  # fmt: skip
coders = Table(
    "coders", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),  # "coder" or "lead"
    Column("token", Text),  # SHA-256; NULL: may not sign in any more
)  # fmt: skip
sessions = Table(
    "sessions", metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of what the browser keeps
    Column("coder", ForeignKey("coders.id"), nullable=False),
    Column("started", Float, nullable=False),  # seconds since 1970, as all times here
    Column("seen", Float, nullable=False),
)  # fmt: skip
changes = Table(
    "changes", metadata,
    Column("id", Integer, primary_key=True),
    Column("coder", ForeignKey("coders.id"), nullable=False),
    Column("document", ForeignKey("documents.id"), nullable=False),
    Column("key", Text, nullable=False),  # the sender's: a change that is sent again is the same change
    Column("at", Float, nullable=False),
    Column("kind", Text, nullable=False),
    Column("label", Text),  # of a decision
    Column("spans", Text),  # JSON, of a decision: all words that prove the label, [[start, end], …]
    Column("undoes", ForeignKey("changes.id"), unique=True),
    UniqueConstraint("coder", "key"),
    Index("changes_by_document", "document", "coder"),
    Index("changes_by_coder", "coder", "kind", "id"),
)  # fmt: skip
work = Table(
    "work", metadata,
    Column("document", ForeignKey("documents.id"), primary_key=True),
    Column("coder", ForeignKey("coders.id"), primary_key=True),
    Column("model", Text, nullable=False),  # whose suggestions the coder saw
    Column("until", Float, nullable=False),  # the document is the coder's so long
    Column("finished", Integer, nullable=False, default=0),
    Index("work_by_coder", "coder", "finished"),
)  # fmt: skip
KEPT = """CREATE TRIGGER changes_are_not_{name} BEFORE {act} ON changes
BEGIN SELECT RAISE(ABORT, 'changes are kept for ever'); END"""


def open_file(path: Path, *, make: bool = False) -> Engine:
    """Open the file of a desk, readable only to its owner.

    Args:
        path: The file.
        make: Make it where it is not there.

    Raises:
        DataError: It is not there, or another program's, or another version's.
        PlantError: It cannot be made.
    """
    if not path.exists():
        if not make:
            raise DataError("no such file", where=str(path), fix="`plant desk add-coder FILE NAME` makes it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            fix = "choose another folder, or change its permissions"
            raise PlantError(f"cannot be made ({error.strerror})", where=str(path), fix=fix) from error
    new = make and path.stat().st_size == 0
    if not new:
        check_file(path)
    path.chmod(0o600)  # journals get the permissions of the file
    address = URL.create("sqlite", database=str(path))  # in a plain one a ? would end the file's name
    engine = create_engine(address, connect_args={"timeout": 30.0}, hide_parameters=True)
    event.listen(engine, "connect", _connected)
    event.listen(engine, "begin", _begins)
    # What is raised in the place of SQLAlchemy's error, which would show what was to be written.
    event.listen(engine, "handle_error", lambda context: explained(path, context.original_exception))
    if new:
        _make_tables(engine)
    engine.connect().close()  # an error comes now where nobody can work on it
    return engine


def _make_tables(engine: Engine) -> None:
    with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
        if connection.exec_driver_sql("PRAGMA user_version").scalar_one() == 0:  # no other process was faster
            metadata.create_all(connection)
            for name, act in (("changed", "UPDATE"), ("removed", "DELETE")):
                connection.exec_driver_sql(KEPT.format(name=name, act=act))
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            connection.exec_driver_sql(f"PRAGMA user_version = {VERSION}")


def check_file(path: Path) -> None:
    """Raise a DataError unless a file is a whole desk of this version."""
    fix = "name the file that `plant desk add-coder` made, or restore a backup"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as plain:
            versions = [plain.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            whole = plain.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:  # which says nothing of what is in it
        raise explained(path, error) or error from error
    except sqlite3.Error as error:
        raise DataError(f"this is no desk ({type(error).__name__})", where=str(path), fix=fix) from error
    if versions != [APPLICATION, VERSION] or whole != "ok":
        damaged = versions[0] == APPLICATION and whole != "ok"
        what = "the file is damaged" if damaged else "this is no desk of this version"
        raise DataError(what, where=str(path), fix=fix)


def _connected(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, see _begins
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def explained(path: Path, error: BaseException) -> PlantError | None:
    """Return an error in a sentence for one of SQLite; None for one that only a caller can explain."""
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, sqlite3.IntegrityError):
        return None
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
