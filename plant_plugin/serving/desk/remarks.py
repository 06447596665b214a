"""What is said beside decisions, a line each, which stays for ever as decisions do.

That a coder took a code though the desk knows no such code, and to whom a lead gave a document.
"""

from __future__ import annotations

import time

from sqlalchemy import (
    REAL,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    select,
)
from sqlalchemy.dialects.sqlite import insert as insert_or_ignore

from plant_plugin.serving.desk.tables import metadata, strict

UNKNOWN, COMMENT, UNSURE, SURE, GIVEN = "unknown", "comment", "unsure", "sure", "given"

remarks = strict(
    "remarks", metadata,
    Column("id", Integer, primary_key=True),
    Column("coder", ForeignKey("coders.id"), nullable=False),  # who says it
    Column("document", ForeignKey("documents.id"), nullable=False),
    Column("key", Text, nullable=False),  # the sender's: a remark that is sent again is the same remark
    Column("at", REAL, nullable=False),
    Column("kind", Text, nullable=False),
    Column("label", Text),
    Column("text", Text),
    Column("whom", ForeignKey("coders.id")),  # to whom a document is given
    UniqueConstraint("coder", "key"),
    Index("remarks_by_document", "document", "coder"),
    CheckConstraint("kind IN ('unknown', 'comment', 'unsure', 'sure', 'given')"),
    CheckConstraint("(kind IN ('unknown', 'unsure', 'sure')) = (label IS NOT NULL)"),
    CheckConstraint("(kind = 'comment') = (text IS NOT NULL) AND (kind = 'given') = (whom IS NOT NULL)"),
)  # fmt: skip


def remark(connection: Connection, coder: int, key: str, document: int, kind: str, **said: object) -> None:
    """Write a remark; once, however often it is sent."""
    values = {"coder": coder, "document": document, "key": key, "at": time.time(), "kind": kind, **said}
    connection.execute(insert_or_ignore(remarks).values(values).on_conflict_do_nothing())


def unknown(connection: Connection) -> set[tuple[int, str]]:
    """Return documents with the labels that somebody took for them though the desk knows no such code."""
    wanted = select(remarks.c.document, remarks.c.label).where(remarks.c.kind == UNKNOWN)
    return {(row.document, row.label) for row in connection.execute(wanted)}
