"""What a lead does with documents: sees how far each is, gives it to a coder, opens it again, reads it besides.

What a lead does is written down as coders' changes are.
"""

from __future__ import annotations

import time

from sqlalchemy import ColumnElement, Connection, Subquery, case, func, insert, select, update
from typing_extensions import TypedDict

from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.remarks import GIVEN, remark, remarks
from plant_plugin.serving.desk.splits import SPLIT, ask_further
from plant_plugin.serving.desk.store import Desk, standing
from plant_plugin.serving.desk.tables import DONE, UNDO, changes, coders, documents, work
from plant_plugin.serving.desk.turns import Refused

MOST = 100  # documents that are shown together
FOR_EVER = 1e12  # a loan that does not end until the coder comes
STATES = ("open", "begun", "split", "done")


class Reader(TypedDict):
    """A coder of a document."""

    coder: str
    state: str  # finished, has it, was given it, or began it


class Listed(TypedDict):
    """A document in the lead's list, without its text."""

    id: int
    name: str
    date: str
    state: str  # of STATES
    wanted: int  # how many coders shall read it
    readers: list[Reader]


class Documents(TypedDict):
    """A part of the list."""

    counts: dict[str, int]  # documents by state, of the whole desk
    coders: list[str]  # to whom a document can be given
    documents: list[Listed]
    more: bool  # there are further ones, after the last id


def documents_of(desk: Desk, state: str = "", name: str = "", after: int = 0) -> Documents:
    """Return the documents of a state, or of all, with a part of a name, after an id; ``MOST`` of them."""
    each = _states()
    wanted = select(each).where(each.c.id > after, each.c.name.contains(name, autoescape=True))
    if state:
        wanted = wanted.where(each.c.state == state)
    with desk.reads.begin() as connection:
        counted = connection.execute(select(each.c.state, func.count()).group_by(each.c.state))
        counts = {row[0]: int(row[1]) for row in counted}
        rows = connection.execute(wanted.order_by(each.c.id).limit(MOST + 1)).all()
        readers = _readers(connection, [row.id for row in rows[:MOST]])
        open_accounts = select(coders.c.name).where(coders.c.token.is_not(None)).order_by(coders.c.id)
        names = list(connection.scalars(open_accounts))
    found = [
        Listed(id=row.id, name=row.name, date=row.date, state=row.state, wanted=row.wanted, readers=readers[row.id])
        for row in rows[:MOST]
    ]
    return {
        "counts": {state: counts.get(state, 0) for state in STATES},
        "coders": names,
        "documents": found,
        "more": len(rows) > MOST,
    }


def give(desk: Desk, lead: Coder, key: str, document: int, name: str) -> None:
    """Let a document be a coder's next; whoever else has begun it loses it.

    Raises:
        Refused: There is no such document, or the coder has finished it.
    """
    to = _named(desk, name)
    with desk.writes.begin() as connection:
        before = select(remarks.c.id).where(remarks.c.coder == lead.id, remarks.c.key == key)
        if connection.scalar(before) is not None:
            return
        mine = _work(document, to)
        if connection.scalar(select(work.c.finished).where(mine)):
            raise Refused(f"{to.name} has finished it: open it again in the place of that")
        if connection.scalar(select(documents.c.id).where(documents.c.id == document)) is None:
            raise Refused("there is no such document")
        others = (work.c.document == document) & (work.c.coder != to.id)
        connection.execute(update(work).where(others, work.c.finished == 0).values(until=0.0))
        desk.lend(connection, to, document, "", time.time(), opened=False)
        connection.execute(update(work).where(mine).values(until=FOR_EVER))
        done = connection.scalar(select(func.count()).select_from(work).where(others, work.c.finished == 1)) or 0
        enough = update(documents).where(documents.c.id == document, documents.c.wanted <= done)
        connection.execute(enough.values(wanted=done + 1))
        remark(connection, lead.id, key, document, GIVEN, whom=to.id)


def reopen(desk: Desk, lead: Coder, key: str, document: int, name: str) -> None:
    """Take back that a coder has finished a document, which is the coder's next then; Refused where it is not so."""
    of = _named(desk, name)
    with desk.writes.begin() as connection:
        if desk.known(connection, lead, key, {"document": document, "kind": UNDO}):
            return
        done = connection.execute(standing(of.id, document, kinds=(DONE,), newest=True)).first()
        if done is None:
            raise Refused(f"{of.name} has not finished it")
        undone = {"coder": lead.id, "document": document, "key": key, "at": time.time(), "kind": UNDO}
        connection.execute(insert(changes).values({**undone, "undoes": done.id}))
        connection.execute(update(work).where(_work(document, of)).values(finished=0, until=FOR_EVER))
        ask_further(connection, document, desk.readers(connection, document))


def take(desk: Desk, lead: Coder, key: str, document: int, model: str) -> None:
    """Lend the lead a document, whoever else reads it; what the lead has finished is open again."""
    with desk.writes.begin() as connection:
        if connection.scalar(select(documents.c.id).where(documents.c.id == document)) is None:
            raise Refused("there is no such document")
        if desk.known(connection, lead, key, {"document": document}):
            return
        desk.lend(connection, lead, document, model, time.time())
        done = connection.execute(standing(lead.id, document, kinds=(DONE,), newest=True)).first()
        if done is not None:
            desk.append(connection, lead, key, document, finished=False, kind=UNDO, undoes=done.id)


def _named(desk: Desk, name: str) -> Coder:
    found = [coder for coder in desk.people.all() if coder.name == name]
    if not found:
        raise Refused("there is no coder of this name")
    return found[0]


def _work(document: int, coder: Coder) -> ColumnElement[bool]:
    return (work.c.document == document) & (work.c.coder == coder.id)


def _states() -> Subquery:
    """Select every document with its state."""
    finished = func.coalesce(func.sum(work.c.finished), 0)
    known = [(SPLIT, "split"), (finished >= documents.c.wanted, "done"), (func.count(work.c.coder) > 0, "begun")]
    state = case(*known, else_="open").label("state")
    columns = (documents.c.id, documents.c.name, documents.c.date, documents.c.wanted)
    rows = select(*columns, state).select_from(documents.outerjoin(work)).group_by(documents.c.id)
    return rows.subquery()


def _readers(connection: Connection, ids: list[int]) -> dict[int, list[Reader]]:
    now, found = time.time(), {document: list[Reader]() for document in ids}
    columns = (work.c.document, work.c.finished, work.c.until, coders.c.name)
    rows = select(*columns).join_from(work, coders).where(work.c.document.in_(ids))
    for row in connection.execute(rows.order_by(coders.c.id)):
        lent = "was given it" if row.until == FOR_EVER else "has it" if row.until > now else "began it"
        found[row.document].append(Reader(coder=row.name, state="finished" if row.finished else lent))
    return found
