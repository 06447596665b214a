"""In which order coders put the codes of a document: the first is the principal code.

Each order is a line that stays for ever, as decisions do. A coder's last one counts, and an empty one takes it back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import Field
from sqlalchemy import REAL, Column, Connection, Engine, ForeignKey, Index, Integer, Text, UniqueConstraint, select
from sqlalchemy.dialects.sqlite import insert as insert_or_ignore

from plant_plugin.serving.desk.asked import LABEL_LENGTH, FinishQuestion
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.splits import margins
from plant_plugin.serving.desk.tables import metadata, strict, work
from plant_plugin.serving.desk.turns import Refused, check_turn

MOST = 200  # codes of an order
Orders = dict[int, list[str]]  # coder -> labels, the principal one first

orders = strict(
    "orders", metadata,
    Column("id", Integer, primary_key=True),
    Column("coder", ForeignKey("coders.id"), nullable=False),
    Column("document", ForeignKey("documents.id"), nullable=False),
    Column("key", Text, nullable=False),  # the sender's: what is sent again is the same order
    Column("at", REAL, nullable=False),
    Column("labels", Text, nullable=False),  # with spaces between
    UniqueConstraint("coder", "key"),
    Index("orders_by_document", "document"),
)  # fmt: skip


class OrderQuestion(FinishQuestion):
    """The codes of a document in order."""

    labels: Annotated[list[Annotated[str, Field(pattern=r"^\S+$", max_length=LABEL_LENGTH)]], Field(max_length=MOST)]


def put_in_order(writes: Engine, coder: Coder, question: OrderQuestion) -> None:
    """Write an order down; Refused where the document is not the coder's, or finished."""
    said = {"coder": coder.id, "document": question.document, "key": question.key, "at": time.time()}
    row = insert_or_ignore(orders).values({**said, "labels": " ".join(question.labels)})
    with writes.begin() as connection:
        if check_turn(connection, coder, question.document, time.time()):
            raise Refused("the document is finished; undo that first")
        connection.execute(row.on_conflict_do_nothing())


def orders_of(connection: Connection, document: int | None = None, *, finished: bool = False) -> dict[int, Orders]:
    """Return the orders that count of each document, or of one; ``finished``: of coders who have finished it."""
    wanted = select(orders).order_by(orders.c.id)
    if document is not None:
        wanted = wanted.where(orders.c.document == document)
    if finished:
        mine = (work.c.document == orders.c.document) & (work.c.coder == orders.c.coder)
        wanted = wanted.join_from(orders, work, mine).where(work.c.finished == 1)
    found = dict[int, Orders]()
    for row in connection.execute(wanted):
        found.setdefault(row.document, {})[row.coder] = row.labels.split()
    return found


def principals(said: Orders, given: Mapping[int, Collection[str]]) -> dict[int, str]:
    """Return the principal code of each coder who names one: the first in order that the coder gives."""
    kept = {who: [label for label in said.get(who, ()) if label in labels] for who, labels in given.items()}
    return {who: labels[0] for who, labels in kept.items() if labels}


def more_than_half(named: Collection[str]) -> str | None:
    """Return the code that more than half name; None where they are split, or there is nobody."""
    label, count = Counter(named).most_common(1)[0] if named else ("", 0)
    return label if 2 * count > len(named) else None


def are_split(connection: Connection, document: int, given: Mapping[int, Collection[str]]) -> bool:
    """Tell whether coders are split on a label that they give, or none of the principal codes has more than half."""
    named = principals(orders_of(connection, document).get(document, {}), given).values()
    return 0 in margins([*given.values()]).values() or (bool(named) and more_than_half(named) is None)


def named_orders(connection: Connection, document: int, readers: Collection[Coder]) -> dict[str, list[str]]:
    """Return the orders of a document by the names of readers who put it in one."""
    said = orders_of(connection, document).get(document, {})
    return {one.name: said[one.id] for one in readers if said.get(one.id)}
