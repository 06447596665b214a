"""What the tables of a desk's file show to be lost.

What coders did is written down twice, and lines that are kept for ever have numbers without a gap.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import Table

from plant_plugin.serving.desk.tables import DONE

STANDING = f"""SELECT document, coder FROM changes WHERE kind = '{DONE}'
AND id NOT IN (SELECT undoes FROM changes WHERE undoes IS NOT NULL)"""
FINISHED = "SELECT document, coder FROM work WHERE finished"
CONTRADICTIONS = {  # what is wrong where a question has an answer
    "the table work has lost what a coder finished": f"{STANDING} EXCEPT {FINISHED}",
    "the table work holds what no coder finished": f"{FINISHED} EXCEPT {STANDING}",
}
GONE = "SELECT 1 FROM (SELECT count(*) AS there, max(id) AS last FROM {0}) WHERE there < last"
NOBODYS = "SELECT document, coder FROM orders EXCEPT SELECT document, coder FROM work"


def lost(plain: sqlite3.Connection, tables: list[Table]) -> str | None:
    """Return what was lost of a file that has a desk's tables, or moved to who never had it; None: nothing."""
    kept = [table.name for table in tables if "key" in table.c]
    questions = {f"a line of the table {name}, kept for ever, is gone": GONE.format(name) for name in kept}
    questions.update(CONTRADICTIONS)
    if "orders" in kept:  # an older file has none
        questions["the table orders holds one of who never had the document"] = NOBODYS
    return next((what for what, question in questions.items() if plain.execute(question).fetchone()), None)
