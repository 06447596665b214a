"""Whose turn it is: which document a coder gets next, and whether one is still theirs.

A lead gets the documents first on which coders are split, and settles them alone.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, ScalarSelect, func, select

from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.splits import READERS, SPLIT
from plant_plugin.serving.desk.tables import coders, documents, work

BY = {  # how the next document is chosen
    "uncertainty": (documents.c.uncertainty.desc(), documents.c.id),
    "date": (documents.c.date, documents.c.id),
    "sent": (documents.c.id,),
}


class Refused(Exception):
    """A wish of a coder that is not possible; its message has no text of a document."""


def next_for(connection: Connection, coder: Coder, order: str, now: float) -> int | None:
    """Return the document that the coder has begun, else the first that is free; None: no more.

    Free is what still wants a reader, counting those who have finished it or have it lent. A lead may read besides.
    """
    mine = select(work.c.document).where(work.c.coder == coder.id)
    free = _taken(coder, now) < READERS
    lead = coder.role == LEAD
    begun = select(documents.c.id).where(documents.c.id.in_(mine.where(work.c.finished == 0)))
    fresh = select(documents.c.id).where(documents.c.id.not_in(mine), free).order_by(*BY[order])
    kinds = (SPLIT, ~SPLIT) if lead else (~SPLIT, SPLIT)  # an index has them in each order
    for wanted in (begun if lead else begun.where(free), *map(fresh.where, kinds)):
        if (document := connection.scalar(wanted.limit(1))) is not None:
            return document
    return None


def check_turn(connection: Connection, coder: Coder, document: int, now: float) -> bool:
    """Tell whether the coder has finished a document; Refused where it is not theirs, or not any more."""
    mine = (work.c.document == document) & (work.c.coder == coder.id)
    row = connection.execute(select(work.c.finished, work.c.until).where(mine)).first()
    if row is None:
        raise Refused("this document was not lent to you")
    if not row.finished and row.until <= now:
        others = select(coders.c.name).join_from(coders, work).where(work.c.document == document, *_others(coder, now))
        names = list(connection.scalars(others.order_by(coders.c.id)))
        if coder.role != LEAD and len(names) >= (
            connection.scalar(select(READERS).where(documents.c.id == document)) or 0
        ):
            raise Refused(f"your loan of this document has ended: {', '.join(names)} has it now, nothing was saved")
    return bool(row.finished)


def _taken(coder: Coder, now: float) -> ScalarSelect[int]:
    others = (work.c.document == documents.c.id, *_others(coder, now))
    return select(func.count()).select_from(work).where(*others).correlate(documents).scalar_subquery()


def _others(coder: Coder, now: float) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return work.c.coder != coder.id, (work.c.finished == 1) | (work.c.until > now)
