"""The desk's database and its questions over HTTP, for :mod:`mutated_inputs`."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

from mutated_data import rows
from mutated_inputs import OUT, Answer, Subject, asked_and_read
from mutated_runs import two_runs
from mutations import VALUES, bytes_of, value_of

HOST = "desk.example"
PROGRAMS = (
    "CREATE VIEW notes AS SELECT text FROM documents", "CREATE TABLE more (x)", "DROP INDEX documents_by_date",
    "CREATE TRIGGER also AFTER INSERT ON work BEGIN UPDATE coders SET role = 'lead'; END",
    "ALTER TABLE coders ADD COLUMN x TEXT DEFAULT 'a'", "PRAGMA user_version = 2", "PRAGMA application_id = 1",
    "DROP TRIGGER changes_are_not_changed", "ALTER TABLE work RENAME TO x", "CREATE VIRTUAL TABLE m USING fts5(x)",
)  # fmt: skip
REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("next", {"order": "sent"}), ("finish", {"key": "key-12345", "document": 2}),
    ("decide", {"key": "key-23456", "document": 2, "label": "L3", "kind": "accept", "spans": [[0, 4], [5, 9]]}),
    ("undo", {"key": "key-34567", "document": 1, "last": None}), ("sign-in", {"token": "x" * 40}),
)  # fmt: skip


def write_desk(folder: Path) -> None:
    from sqlalchemy import insert

    from plant_plugin.serving.desk.order import orders
    from plant_plugin.serving.desk.store import Decision, Desk, Suggestions

    with closing(Desk(folder / "desk.sqlite", make=True)) as desk:
        for name in ("ana", "berta"):
            desk.people.add(name)
        unknown = ("X1", "X2")
        coded = [(uid, text, [Decision(code, "add", [(0, 6)]) for code in codes]) for uid, codes, text in rows(4)]
        desk.import_coded(desk.people.named("ana"), coded)
        desk.import_coded(desk.people.named("berta"), coded[:2])
        desk.import_coded(
            desk.people.named("berta"), [("x", "fever", [Decision(one, "add", []) for one in unknown])], unknown=unknown
        )
        desk.add_documents((uid, text) for uid, _, text in rows(7)[4:])
        desk.people.sign_in(desk.people.renew("ana"))
        with desk.writes.begin() as connection:
            for number, (_, codes, _) in enumerate(rows(2), 1):
                said = {"coder": 1, "document": number, "key": f"order {number}", "at": 0.0, "labels": " ".join(codes)}
                connection.execute(insert(orders).values(said))
        desk.suggest(
            "model", [(1, Suggestions([{"label": "I10", "probability": 0.9, "predicted": True, "spans": []}], 0.5))]
        )
    with sqlite3.connect(folder / "desk.sqlite") as plain:
        plain.execute("PRAGMA journal_mode = DELETE")


def tables(plain: sqlite3.Connection) -> list[str]:
    """All tables of a desk's file, so that none is left out of what is spoiled."""
    asked = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [name for (name,) in plain.execute(asked)]


def spoil_desk(folder: Path, chance: random.Random) -> None:
    path, drawn = folder / "desk.sqlite", chance.random()
    if drawn < 0.3:
        content = bytearray(path.read_bytes())
        filled = [place for place, byte in enumerate(content) if byte]
        for _ in range(chance.choice([1, 1, 3, 30])):
            content[chance.choice(filled)] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
    elif drawn < 0.38:
        path.write_bytes(bytes_of(path.read_bytes(), chance))
    elif drawn < 0.45:
        for ending in chance.sample(["-wal", "-journal", "-shm"], 2):
            Path(f"{path}{ending}").write_bytes(chance.choice([b"", chance.randbytes(9000), path.read_bytes()]))
    elif drawn < 0.55:
        _script(path, chance.choice(PROGRAMS), triggers=False)
    else:
        with closing(sqlite3.connect(path)) as plain:
            table = chance.choice(tables(plain))
            names = [row[1] for row in plain.execute(f"PRAGMA table_info({table})")]
            number = plain.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        column, value = (
            chance.choice(names),
            chance.choice([*VALUES[:8], "[]", "[[0]]", "[[0,6],[9,4]]", "ad d", "done", 2, 99, -1]),
        )
        value = value if isinstance(value, str | int | float | None) else str(value)
        where = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {chance.randrange(number)})"
        statement = (
            f"DELETE FROM {table} WHERE {where}"
            if drawn < 0.65
            else f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {where}"
        )
        _script(path, statement, *([value] if "?" in statement else []))


def _script(path: Path, statement: str, *values: Any, triggers: bool = True) -> None:
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("PRAGMA ignore_check_constraints = ON")
        kept = (
            plain.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall() if triggers else []
        )
        for name, _ in kept:
            plain.execute(f"DROP TRIGGER {name}")
        try:
            plain.execute(
                statement,
                [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in values],
            )
        except (sqlite3.Error, OverflowError):
            plain.execute("UPDATE documents SET date = '2000-01-01'")
        for _, sql in kept:
            plain.execute(sql)
        plain.commit()


def ask_desk(folder: Path, *command: object) -> Answer:
    out = folder.parent / OUT

    def read() -> list[str]:
        written = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "provenance.json")
        return [path.name + path.read_bytes().decode() for path in written]

    answer = asked_and_read(read, "desk", *command)
    if answer.code == 0 and not answer.read:
        return answer._replace(read=answer.out)
    return answer


def ask_export(form: str, folder: Path) -> Answer:
    return ask_desk(folder, "export", folder / "desk.sqlite", "--out", folder.parent / OUT, "--form", form)


def ask_agreement(folder: Path) -> Answer:
    return ask_desk(folder, "agreement", folder / "desk.sqlite", "--json")


def another_desk(folder: Path) -> bool:
    """Whether a plain look with SQLite sees a desk that says something else, and agrees with itself."""
    with closing(sqlite3.connect(folder / "desk.sqlite")) as plain:
        plain.execute("PRAGMA trusted_schema = OFF")
        if (
            plain.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
            or plain.execute("PRAGMA foreign_key_check").fetchall()
        ):
            raise ValueError("not whole")
        for name, text, digest in plain.execute("SELECT name, text, hash FROM documents"):
            if hashlib.sha256(f"{name}\0{text}".encode()).hexdigest() != digest:
                raise ValueError("a document is another")
        done = {
            (document, coder): kind == "done"
            for document, coder, kind in plain.execute(
                "SELECT document, coder, kind FROM changes WHERE kind IN ('done', 'open') AND id NOT IN "
                "(SELECT undoes FROM changes WHERE undoes IS NOT NULL) ORDER BY id"
            )
        }
        for document, coder, finished in plain.execute("SELECT document, coder, finished FROM work"):
            if bool(finished) != done.get((document, coder), False):
                raise ValueError("work and changes differ")
        work = plain.execute("SELECT document, coder FROM work").fetchall()
        if {pair for pair, finished in done.items() if finished} - set(work):
            raise ValueError("work is gone")
    return True


@cache
def predictor() -> Any:
    from plant_plugin.model.predictor import Predictor

    return Predictor.load(two_runs()[0], device="cpu")


def write_request(folder: Path) -> None:
    write_desk(folder)
    (folder / "request.json").write_text(
        json.dumps({"path": "next", "body": json.dumps({"order": "sent"}), "headers": {}})
    )


def spoil_request(folder: Path, chance: random.Random) -> None:
    path, body = chance.choice(REQUESTS)
    drawn, headers = chance.random(), dict[str, str]()
    text = json.dumps(body)
    if drawn < 0.55:
        text = json.dumps(value_of(json.loads(text), chance))
    elif drawn < 0.75:
        text = bytes_of(text.encode(), chance).decode("latin-1")
    elif drawn < 0.8:
        text = chance.choice(["[" * 100_000, '{"key": "' + "x" * 3_000_000 + '"}', "9" * 5000, '{"a":' * 50_000])
    elif drawn < 0.9:
        name = chance.choice(
            ["x-csrf", "content-type", "cookie", "origin", "host", "content-length", "transfer-encoding"]
        )
        headers = {name: chance.choice(["", "x", "null", "\xe9", "9" * 40, "a=b; a=c", "text/plain", "-1"])}
    else:
        path = chance.choice(
            [
                f"{path}/",
                f"../{path}",
                "%00",
                "codes?q=" + "x" * 5000,
                "codes?q=%00",
                "codes?q=%1b[2J",
                "figures",
                "codes",
                "me?x=1",
                "desk.js/..",
                "decide?document=1",
            ]
        )
    (folder / "request.json").write_text(json.dumps({"path": path, "body": text, "headers": headers}))


def ask_http(folder: Path) -> Answer:
    from fastapi.testclient import TestClient

    from plant_plugin.serving.app import create_app
    from plant_plugin.serving.desk.store import Desk

    request = json.loads((folder / "request.json").read_text())
    with closing(Desk(folder / "desk.sqlite")) as desk:
        token = desk.people.renew("ana")
        app = create_app(predictor(), hosts=[HOST], token="the-servers-own-made-up-token", desk=desk)
        with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as client:
            csrf = client.post("/desk/sign-in", json={"token": token}).json()["csrf"]
            before = _content(folder)
            method = client.get if "?" in request["path"] or request["path"] in ("figures", "codes") else client.post
            body = {} if method == client.get else {"content": request["body"].encode("utf-8", "replace")}
            headers = {"x-csrf": csrf, "content-type": "application/json", **request["headers"]}
            try:
                answer = method(
                    f"/desk/{request['path']}",
                    headers={name: value.encode("latin-1") for name, value in headers.items()},
                    **body,
                )
            except (ValueError, TypeError) as error:  # the client does not send that
                return Answer(2, "", f"Error: {type(error).__name__}", before)
        after = _content(folder)
    if answer.status_code >= 500:
        return Answer(70, "", f"{answer.status_code} {answer.text}")
    if answer.status_code >= 400:
        changed = "" if after == before else "; Traceback: a question that was refused has changed the desk"
        return Answer(2, "", f"Error: {answer.text.encode('ascii', 'backslashreplace').decode()}{changed}", after)
    return Answer(0, "", "", after)


def _content(folder: Path) -> Any:
    read = {"changes": "coder, document, kind, label, spans, undoes", "documents": "name, text", "coders": "name, role"}
    with closing(sqlite3.connect(folder / "desk.sqlite")) as plain:
        return [plain.execute(f"SELECT {names} FROM {table}").fetchall() for table, names in read.items()]


def subjects() -> list[Subject]:
    made = [
        Subject(f"desks: export, {form}", write_desk, partial(ask_export, form), another_desk, False, spoil_desk)
        for form in ("libmultilabel", "labelstudio", "brat")
    ]
    made.append(Subject("desks: agreement", write_desk, ask_agreement, another_desk, False, spoil_desk))
    return [*made, Subject("desks: HTTP", write_request, ask_http, lambda folder: True, False, spoil_request)]
