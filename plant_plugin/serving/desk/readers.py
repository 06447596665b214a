"""How many coders shall read a document: one more where those who have finished it are split on a label."""

from __future__ import annotations

from sqlalchemy import Connection, func, update

from plant_plugin.serving.desk.tables import documents

READERS = documents.c.wanted + documents.c.more
SPLIT = documents.c.more > 0


def ask_further(connection: Connection, document: int, readers: int) -> None:
    """Let a document want so many readers, if that is more than it wanted first."""
    more = func.max(0, readers - documents.c.wanted)
    connection.execute(update(documents).where(documents.c.id == document, documents.c.more != more).values(more=more))
