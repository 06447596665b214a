"""How many coders shall read a document: one more where those who have finished it are split on a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, func, update

from plant_plugin.serving.desk.tables import documents

READERS = documents.c.wanted + documents.c.more
SPLIT = documents.c.more > 0


def ask_further(connection: Connection, document: int, readers: int) -> None:
    """Let a document want so many readers, if that is more than it wanted first."""
    more = func.max(0, readers - documents.c.wanted)
    connection.execute(update(documents).where(documents.c.id == document, documents.c.more != more).values(more=more))


def margins(labels: Sequence[Collection[str]]) -> dict[str, int]:
    """Return for each label that anybody gives by how many more it is given than not; 0: they are split."""
    given = Counter(label for each in labels for label in each)
    return {label: 2 * count - len(labels) for label, count in given.items()}
