"""Tables of the file of a desk.

The table of changes is the truth: each line stays for ever, which the file itself enforces. ``work`` says the same in
short, so that the next document is found at once; both are written in one transaction. Columns hold their type and
nothing else, and values that no desk writes are refused by the file.
"""

from __future__ import annotations

from functools import partial

from sqlalchemy import (
    REAL,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

APPLICATION = 0x504C4E54  # SQLite's application_id of such a file
WRITES = "writes"  # execution option: the transaction takes the file's one lock for writers when it begins
OPEN, ACCEPT, REJECT, ADD, DONE, UNDO = "open", "accept", "reject", "add", "done", "undo"
DECISIONS = (ACCEPT, REJECT, ADD)

metadata = MetaData()
strict = partial(Table, sqlite_strict=True)

documents = strict(
    "documents", metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", Text, nullable=False, unique=True),  # of name and text: what is sent twice is there once
    Column("name", Text, nullable=False),  # what the sender calls it
    Column("text", Text, nullable=False),
    Column("date", Text, nullable=False),  # of the document, YYYY-MM-DD
    Column("wanted", Integer, nullable=False),  # how many coders shall read it
    Column("more", Integer, nullable=False, default=0),  # how many more, because those who finished it are split
    Column("uncertainty", REAL),  # of the model that served last, in nats; NULL: it has not read it
    Index("documents_by_date", "date", "id"),
    CheckConstraint("length(hash) = 64 AND date GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'"),
    CheckConstraint("wanted >= 1 AND more >= 0"),
)  # fmt: skip
Index("documents_by_uncertainty", documents.c.uncertainty.desc(), documents.c.id)
Index("documents_split", documents.c.id, sqlite_where=documents.c.more > 0)
suggestions = strict(
    "suggestions", metadata,
    Column("document", ForeignKey("documents.id"), primary_key=True),
    Column("model", Text, primary_key=True),  # hash of the model's files
    Column("labels", Text, nullable=False),  # JSON, as of :class:`.store.Suggested`
    CheckConstraint("labels GLOB '[[]*]'"),
)  # fmt: skip
coders = strict(
    "coders", metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),  # "coder" or "lead"
    Column("token", Text),  # SHA-256; NULL: may not sign in any more
    CheckConstraint("length(name) BETWEEN 1 AND 60 AND role IN ('coder', 'lead')"),
    CheckConstraint("length(token) = 64"),
)  # fmt: skip
sessions = strict(
    "sessions", metadata,
    Column("hash", Text, primary_key=True),  # SHA-256 of what the browser keeps
    Column("coder", ForeignKey("coders.id"), nullable=False),
    Column("started", REAL, nullable=False),  # seconds since 1970, as all times here
    Column("seen", REAL, nullable=False),
    CheckConstraint("length(hash) = 64"),
)  # fmt: skip
changes = strict(
    "changes", metadata,
    Column("id", Integer, primary_key=True),
    Column("coder", ForeignKey("coders.id"), nullable=False),
    Column("document", ForeignKey("documents.id"), nullable=False),
    Column("key", Text, nullable=False),  # the sender's: a change that is sent again is the same change
    Column("at", REAL, nullable=False),
    Column("kind", Text, nullable=False),
    Column("label", Text),  # of a decision
    Column("spans", Text),  # JSON, of a decision: all words that prove the label, [[start, end], …]
    Column("undoes", ForeignKey("changes.id"), unique=True),
    UniqueConstraint("coder", "key"),
    Index("changes_by_document", "document", "coder"),
    Index("changes_by_coder", "coder", "kind", "id"),
    CheckConstraint("kind IN ('open', 'accept', 'reject', 'add', 'done', 'undo')"),
    CheckConstraint("(kind IN ('accept', 'reject', 'add')) = (label IS NOT NULL AND spans IS NOT NULL)"),
    CheckConstraint("(kind = 'undo') = (undoes IS NOT NULL)"),
    CheckConstraint("spans GLOB '[[]*]' AND spans NOT GLOB '*[^][0-9, ]*'"),
)  # fmt: skip
work = strict(
    "work", metadata,
    Column("document", ForeignKey("documents.id"), primary_key=True),
    Column("coder", ForeignKey("coders.id"), primary_key=True),
    Column("model", Text, nullable=False),  # whose suggestions the coder saw
    Column("until", REAL, nullable=False),  # the document is the coder's so long
    Column("finished", Integer, nullable=False, default=0),
    Index("work_by_coder", "coder", "finished"),
    CheckConstraint("finished IN (0, 1)"),
)  # fmt: skip
