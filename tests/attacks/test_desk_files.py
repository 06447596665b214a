"""Desks that somebody sends: nothing in them runs, and whatever is wrong is one line that shows no text."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from mutated_desk import tables, write_desk

from plant_plugin.cli import plant
from plant_plugin.serving.desk.store import Decision, Desk

SECRET = "secretpatient"
PROGRAMS = {  # what would run by itself, or make of the desk another thing
    "view": "CREATE VIEW notes AS SELECT text FROM documents",
    "view in the place of a table": "ALTER TABLE work RENAME TO x; CREATE VIEW work AS SELECT * FROM x",
    "trigger": "CREATE TRIGGER also AFTER INSERT ON work BEGIN UPDATE coders SET role = 'lead'; END",
    "trigger in the place of ours":
        "DROP TRIGGER changes_are_not_removed; "
        "CREATE TRIGGER changes_are_not_removed BEFORE DELETE ON changes BEGIN SELECT 1; END",
    "no trigger": "DROP TRIGGER changes_are_not_changed",
    "table": "CREATE TABLE more (x)",
    "virtual table": "CREATE VIRTUAL TABLE more USING fts5(x)",
    "index of an expression": "CREATE INDEX slow ON documents (hex(zeroblob(1000)))",
    "no index": "DROP INDEX documents_by_date",
    "column": "ALTER TABLE coders ADD COLUMN x TEXT DEFAULT 'a'",
    "computed column": "ALTER TABLE coders ADD COLUMN x TEXT AS (hex(zeroblob(1000)))",
    "a check of its own":
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
        "replace(sql, 'CHECK (finished IN (0, 1))', 'CHECK (length(randomblob(1000000000)))') WHERE name = 'work'",
    "no types":
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '') WHERE name = 'coders'",
    "a default of its own":
        "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = "
        "replace(sql, 'role TEXT', 'role TEXT DEFAULT (hex(zeroblob(1000000000)))') WHERE name = 'coders'",
}  # fmt: skip
LOSABLE = {"sessions", "suggestions"}  # whoever was signed in signs in again, and the model reads again
WRONG = {  # values that no desk writes, past the checks of the file
    "kind": "UPDATE changes SET kind = 'agree' WHERE id = 2",
    "role": "UPDATE coders SET role = 'owner'",
    "no number": "UPDATE documents SET wanted = 0",
    "nobody": "UPDATE work SET coder = 99",
    "spans": "UPDATE changes SET spans = '[[0]]' WHERE label IS NOT NULL",
    "spans of words": "UPDATE changes SET spans = 'secretpatient' WHERE label IS NOT NULL",
    "suggestions": "UPDATE suggestions SET labels = '[{}]'",
    "torn suggestions": "UPDATE suggestions SET labels = '[{secretpatient]'",
}


@pytest.fixture
def sent(tmp_path: Path) -> Path:
    with closing(Desk(tmp_path / "desk.sqlite", make=True)) as desk:
        desk.people.add("ana")
        [document] = desk.add_documents([("a", f"{SECRET} has fever")])
        desk.import_coded(desk.people.named("ana"), [("b", f"{SECRET} coughs", [Decision("R05", "add", [(0, 6)])])])
        from plant_plugin.serving.desk.store import Suggestions

        desk.suggest("model", [(document, Suggestions([], 0.5)), (document + 1, Suggestions([], 0.5))])
    with sqlite3.connect(tmp_path / "desk.sqlite") as plain:
        plain.execute("PRAGMA journal_mode = DELETE")
    return tmp_path / "desk.sqlite"


def spoil(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as plain:
        plain.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, False) if hasattr(plain, "setconfig") else None
        plain.execute("PRAGMA ignore_check_constraints = ON")
        plain.executescript(script)
        plain.commit()


def commands(path: Path) -> dict[str, list[object]]:
    folder = path.parent
    (folder / "new.txt").write_text("R50\tnew text\n")
    return {
        "agreement": ["agreement", path], "export": ["export", path, "--out", folder / "out"],
        "add-coder": ["add-coder", path, "berta"], "add-documents": ["add-documents", path, folder / "new.txt"],
        "backup": ["backup", path, folder / "backup.sqlite"], "restore": ["restore", path, folder / "again.sqlite"],
    }  # fmt: skip


def refused(arguments: list[object]) -> bool:
    done = CliRunner().invoke(plant, ["desk", *map(str, arguments)])
    lines = done.stderr.splitlines()
    assert SECRET not in done.output
    return done.exit_code == 2 and 0 < len(lines) <= 2 and not done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_in_a_desk_are_refused_by_every_command(
    sent: Path, program: str, tally: Callable[[str, bool], None]
) -> None:
    spoil(sent, PROGRAMS[program])
    before = sent.read_bytes()
    for name, arguments in commands(sent).items():
        well = refused(arguments) and sent.read_bytes() == before
        tally("programs in a desk's file", well)
        assert well, name
    assert not (sent.parent / "out").exists()
    assert not (sent.parent / "again.sqlite").exists()


@pytest.mark.parametrize("wrong", WRONG)
def test_values_that_no_desk_writes_are_one_line(sent: Path, wrong: str, tally: Callable[[str, bool], None]) -> None:
    ours = sent.with_name("ours.sqlite")
    shutil.copy(sent, ours)
    with closing(sqlite3.connect(sent)) as plain:  # the triggers come back, so that only values are wrong
        [trigger] = plain.execute("SELECT sql FROM sqlite_master WHERE name = 'changes_are_not_changed'").fetchone()
    spoil(sent, f"DROP TRIGGER changes_are_not_changed; {WRONG[wrong]}; {trigger}")
    assert sent.read_bytes() != ours.read_bytes()
    whole = commands(sent)
    well = all(refused(whole[name]) for name in ("agreement", *(("export",) if "suggestions" not in wrong else ())))
    tally("values that no desk writes", well)
    assert well


def test_a_line_of_any_table_that_is_lost_is_said(tmp_path: Path, tally: Callable[[str, bool], None]) -> None:
    """Of each table of a desk's file, so that a new one is not forgotten."""
    (tmp_path / "whole").mkdir()
    write_desk(tmp_path / "whole")
    whole = tmp_path / "whole" / "desk.sqlite"
    with closing(sqlite3.connect(whole)) as plain:
        triggers = plain.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        names = tables(plain)
        empty = [name for name in names if not plain.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]
    drops = "; ".join(f"DROP TRIGGER {name}" for name, _ in triggers)
    makes = "; ".join(sql for _, sql in triggers)
    assert empty == []
    assert set(names) > LOSABLE
    for name in names:
        sent = tmp_path / name / "desk.sqlite"
        sent.parent.mkdir()
        shutil.copy(whole, sent)
        spoil(sent, f"{drops}; DELETE FROM {name} WHERE rowid = (SELECT min(rowid) FROM {name}); {makes}")
        whole_commands = commands(sent)
        for command in ("agreement", "export"):
            well = refused(whole_commands[command]) != (name in LOSABLE)
            tally("lines that were lost", well)
            assert well, (name, command)
