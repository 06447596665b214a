"""A desk as it was at one moment, in a file of its own, and back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from plant_plugin.errors import ConfigError, DataError
from plant_plugin.files import atomic_write
from plant_plugin.serving.desk.opening import check_file, explained

BESIDE = ("-wal", "-shm", "-journal")  # endings of what SQLite keeps beside a file
LOGGED = b"\2\2"  # SQLite's file format 2: with a write-ahead log


def backup(desk: Path, out: Path) -> None:
    """Write the file of a desk as it is at one moment, also while coders work; whole or not at all.

    Raises:
        ConfigError: ``out`` is a desk that is worked on, this one or another.
        DataError: ``desk`` is none, or damaged.
    """
    if out.is_file() and (out.samefile(desk) or _is_worked_on(out)):
        fix = "name another file; DESK.sqlite comes first, then the file to write"
        raise ConfigError("this is a desk, and no backup of one", where=str(out), fix=fix)
    _copy(desk, out)


def restore(saved: Path, path: Path) -> None:
    """Make the file of a desk from a backup.

    Raises:
        DataError: The backup is not there, damaged, or no desk.
        ConfigError: There is a file already, which might be newer, or what SQLite kept beside it.
    """
    if not saved.is_file():
        raise DataError("no such file", where=str(saved), fix="name a file that `plant desk backup` wrote")
    check_file(saved)
    for there in (path, *(path.with_name(path.name + ending) for ending in BESIDE)):
        if there.exists():  # what lies beside a file holds its last changes, and would be read as the backup's
            fix = f"stop the server and move {path.name} and all files {path.name}-* away together first"
            raise ConfigError("this file is there already", where=str(there), fix=fix)
    _copy(saved, path)


def _copy(source: Path, out: Path) -> None:
    with atomic_write(out) as temporary:
        try:
            with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(temporary)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode = DELETE")  # one file, which can be copied anywhere
        except sqlite3.Error as error:
            raise explained(out, error) or error from error
        check_file(temporary)
    out.chmod(0o600)


def _is_worked_on(path: Path) -> bool:
    """Tell whether a file is a database that was opened for work: unlike a backup it has SQLite's log."""
    with open(path, "rb") as stream:
        head = stream.read(20)
    return head[:6] == b"SQLite" and head[18:20] == LOGGED
