"""Coders at a desk, and what they left in its file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.serving.desk.order import OrderQuestion, put_in_order
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk, Suggestions

MODEL = "made-up-model"
TEXT = "Fever  and cough since Monday,\ta rash too"  # as somebody sent it: white space that a line cannot hold
SECRET = "what a note says"


def coder(desk: Desk, name: str, role: str = "coder") -> Coder:
    desk.people.add(name, role)
    return desk.people.named(name)


def said(desk: Desk, who: Coder, document: int) -> dict[str, tuple[str, list[tuple[int, int]]]]:
    return {label: (one.kind, one.spans) for label, one in desk.opened(who, document, MODEL).decisions.items()}


def lines(desk: Desk) -> list[tuple[object, ...]]:
    with sqlite3.connect(desk.path) as plain:
        return plain.execute("SELECT id, coder, document, kind, label, undoes FROM changes ORDER BY id").fetchall()


def code(desk: Desk, who: Coder, document: int, *decisions: Decision, order: Sequence[str] = ()) -> None:
    """Lend the document whatever the queue says, decide and finish."""
    with desk.writes.begin() as connection:
        desk.lend(connection, who, document, MODEL, 0.0)
    for place, one in enumerate(decisions):
        desk.decide(who, f"key-{document}-{place}-x", document, one)
    if order:
        put_in_order(desk.writes, who, OrderQuestion(key=f"key-{document}-order", document=document, labels=[*order]))
    desk.finish(who, f"key-{document}-done", document)


def coded_desk(desk: Desk) -> Desk:
    """Return a desk with two documents that two coders and a lead have read, one that nobody has finished."""
    ana, berta, lea = coder(desk, "ana"), coder(desk, "berta"), coder(desk, "lea", "lead")
    one, two, three = desk.add_documents([("a", TEXT), ("b", "fever only"), ("c", "secretpatient")], wanted=3)
    suggested = [
        {"label": label, "probability": 0.9, "predicted": label != "R21", "spans": []}
        for label in ("R50", "R05", "R21")
    ]
    desk.suggest(MODEL, [(number, Suggestions(suggested, 1.0)) for number in (one, two, three)])  # type: ignore[arg-type]
    cough, fever = (TEXT.index("cough"), TEXT.index("cough") + 5), (0, 5)
    code(desk, ana, one, Decision("R05", "accept", [cough]), Decision("R50", "accept", [fever]))
    code(desk, berta, one, Decision("R05", "accept", []), Decision("R50", "reject", []), Decision("Z99.9", "add", []))
    code(desk, ana, two, Decision("R50", "accept", []), Decision("R05", "accept", []))
    code(desk, berta, two, Decision("R50", "accept", []), Decision("R05", "accept", []))
    code(desk, lea, two, Decision("R50", "accept", [(0, 5)]), Decision("R05", "reject", []))
    with desk.writes.begin() as connection:
        desk.lend(connection, ana, three, MODEL, 0.0)
    desk.decide(ana, "key-unfinished", three, Decision("R50", "accept", []))
    return desk


@contextmanager
def tampered(path: Path, change: str) -> Iterator[sqlite3.Connection]:
    """Change a desk's file as somebody with another program would: its triggers are gone meanwhile."""
    with closing(sqlite3.connect(path)) as plain:
        triggers = plain.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            plain.execute(f"DROP TRIGGER {name}")
        plain.execute(change)
        for _, sql in triggers:
            plain.execute(sql)
        plain.commit()
        yield plain
