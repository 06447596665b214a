"""What is wrong with the content of a desk's file: values that no desk writes, and lines that belong to nothing.

SQLite has no checksums, so a flipped bit in a text is another text to it; but a desk knows the hash of each document.
"""

from __future__ import annotations

import hashlib
import sqlite3

from sqlalchemy import CheckConstraint, Table

from plant_plugin.serving.desk.lost import lost


def document_hash(name: str, text: str) -> str:
    """Return SHA-256 (hex) over a document's name and text."""
    return hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()


def damage(plain: sqlite3.Connection, tables: list[Table]) -> str | None:
    """Return what is wrong with a file that has a desk's tables; None: nothing."""
    if plain.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        return "the file is damaged"
    for table in tables:  # SQLite looks at no checks where it may only read
        if plain.execute(f"SELECT 1 FROM {table.name} WHERE {_broken(table)} LIMIT 1").fetchone():
            return f"the table {table.name} holds values that no desk writes"
    if row := plain.execute("PRAGMA foreign_key_check").fetchone():
        return f"a line of the table {row[0]} belongs to nothing"
    for number, name, text, digest in plain.execute("SELECT id, name, text, hash FROM documents"):
        if document_hash(name, text) != digest:
            return f"document {number} is not what was added"
    return lost(plain, tables)


def _broken(table: Table) -> str:
    """Return the condition of lines whose values break the rules of their table."""
    rules = [f"NOT ({rule.sqltext})" for rule in table.constraints if isinstance(rule, CheckConstraint)]
    for column in table.columns:
        kinds = [str(column.type).lower()] + ["null"] * bool(column.nullable)
        rules.append(f"""typeof("{column.name}") NOT IN ({", ".join(f"'{kind}'" for kind in kinds)})""")
    return " OR ".join(rules)
