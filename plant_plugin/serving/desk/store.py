"""The documents of a desk, who reads which, and what coders decided.

Every decision is a line of its own with who and when, in a transaction of its own, and is on the disk when the answer
goes out. It bears a key of the sender's: whoever does not hear the answer, because the server was killed, sends it
again, and it counts once.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date as calendar_date
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Row, Select, func, insert, select, text, update
from sqlalchemy.dialects.sqlite import insert as insert_or_ignore
from typing_extensions import NotRequired, TypedDict

from plant_plugin.data.text import Spans
from plant_plugin.errors import DataError
from plant_plugin.serving.desk.damage import document_hash
from plant_plugin.serving.desk.opening import open_file
from plant_plugin.serving.desk.order import are_split
from plant_plugin.serving.desk.people import LEAD, Coder, People
from plant_plugin.serving.desk.remarks import UNKNOWN, remark
from plant_plugin.serving.desk.splits import READERS, ask_further
from plant_plugin.serving.desk.tables import (
    DECISIONS,
    DONE,
    OPEN,
    REJECT,
    UNDO,
    WRITES,
    changes,
    coders,
    documents,
    suggestions,
    work,
)
from plant_plugin.serving.desk.turns import Refused, check_turn, next_for

LEASE = 20 * 60.0  # seconds that a document is a coder's after opening or deciding
ENDING = (*DECISIONS, DONE)  # what an undo takes back
Content = TypeVar("Content")
TOGETHER = 256  # documents that are added in one transaction


class Suggested(TypedDict):
    """A label that the model suggests."""

    label: str
    probability: float
    predicted: bool  # above the model's threshold; else among the best
    spans: Spans  # words that speak for it, in characters
    accepted: NotRequired[float | None]  # the largest share of ``--accept`` that lists it; older files have none


PLACES, SUGGESTED = TypeAdapter(Spans), TypeAdapter(list[Suggested])  # of columns of JSON


@dataclass(frozen=True)
class Suggestions:
    """Suggestions of a model for a document."""

    labels: list[Suggested]  # the most probable first
    uncertainty: float  # entropy of all its labels, in nats


@dataclass(frozen=True)
class Decision:
    """A coder's word on a label."""

    label: str
    kind: str  # accept, reject or add
    spans: Spans
    at: float = field(default=0.0, compare=False)  # seconds since 1970; of one that is written down


Work = tuple[int, str, dict[str, Decision]]  # on a document: coder, model, decisions


@dataclass(frozen=True)
class Opened:
    """A document as its coder sees it."""

    id: int
    name: str
    text: str = field(repr=False)
    suggested: list[Suggested] | None = field(repr=False)  # None: the model has not read it
    decisions: dict[str, Decision] = field(repr=False)
    last: str  # key of the change that an undo takes back; "": none in this document


class Desk:
    """The file of a desk."""

    def __init__(self, path: Path, *, make: bool = False) -> None:
        """Errors: see :func:`.opening.open_file`."""
        self.path, engine = path, open_file(path, make=make)
        self.reads, self.writes = engine, engine.execution_options(**{WRITES: True})
        self.people = People(engine)

    def close(self) -> None:
        """Let go of the file."""
        self.reads.dispose()

    def add_documents(self, sent: Iterable[tuple[str, str]], date: str | None = None, wanted: int = 1) -> list[int]:
        """Put documents into the queue; names and texts that are there already stay once.

        Args:
            sent: Name and text of each.
            date: Of all of them, YYYY-MM-DD; None: today.
            wanted: How many coders shall read each.

        Returns:
            Their ids, 0 for those that were there.
        """
        ids, rest = list[int](), iter(sent)
        while some := list(islice(rest, TOGETHER)):  # read before the lock is taken: who sends may be slow
            with self.writes.begin() as connection:
                ids += [_added(connection, name, content, date, wanted) for name, content in some]
        return ids

    def unread(self, model: str, most: int, after: int = 0) -> list[tuple[int, str]]:
        """Return ids and texts of documents that a model has not read, the first ones ``after`` an id."""
        has = select(suggestions.c.document).where(suggestions.c.model == model)
        wanted = select(documents.c.id, documents.c.text).where(documents.c.id.not_in(has), documents.c.id > after)
        with self.reads.begin() as connection:
            rows = connection.execute(wanted.order_by(documents.c.id).limit(most))
            return [(row.id, row.text) for row in rows]

    def suggest(self, model: str, read: Iterable[tuple[int, Suggestions]]) -> None:
        """Keep what a model says of documents."""
        with self.writes.begin() as connection:
            for document, suggestion in read:
                values = {"document": document, "model": model, "labels": _json(suggestion.labels)}
                connection.execute(insert_or_ignore(suggestions).values(values).on_conflict_do_nothing())
                mine = update(documents).where(documents.c.id == document)
                connection.execute(mine.values(uncertainty=suggestion.uncertainty))

    def next(self, coder: Coder, order: str, model: str) -> int | None:
        """Lend a coder the next document, see :func:`.turns.next_for`; None: no more."""
        now = time.time()
        with self.writes.begin() as connection:
            document = next_for(connection, coder, order, now)
            if document is not None:
                self.lend(connection, coder, document, model, now)
        return document

    def lend(
        self, connection: Connection, coder: Coder, document: int, model: str, now: float, *, opened: bool = True
    ) -> None:
        """Let a document be a coder's for a while; ``opened``: the coder sees it now."""
        values = {"coder": coder.id, "document": document, "model": model, "until": now + LEASE}
        row = insert_or_ignore(work).values({**values, "finished": 0}).on_conflict_do_update(
            index_elements=["document", "coder"], set_={"until": now + LEASE, "model": model}
        )  # fmt: skip
        connection.execute(row)
        if opened:
            key = f"{OPEN} {time.time_ns()}"
            said = {"coder": coder.id, "document": document, "at": now, "kind": OPEN, "key": key}
            connection.execute(insert(changes).values(said))

    def left(self, coder: Coder) -> int:
        """Count the documents that wait for anybody, or for this coder."""
        enough = (func.count() >= READERS) | (func.max(work.c.coder == coder.id) == 1)
        over = (
            select(work.c.document)
            .join_from(work, documents)
            .where(work.c.finished == 1)
            .group_by(work.c.document)
            .having(enough)
            .subquery()
        )
        with self.reads.begin() as connection:
            finished = connection.scalar(select(func.count()).select_from(over)) or 0
            return (connection.scalar(select(func.count()).select_from(documents)) or 0) - finished

    def opened(self, coder: Coder, document: int, model: str) -> Opened:
        """Return a document that is lent to the coder; Refused where it is not."""
        with self.reads.begin() as connection:
            check_turn(connection, coder, document, time.time())
            row = connection.execute(select(documents).where(documents.c.id == document)).one()
            mine = (suggestions.c.document == document) & (suggestions.c.model == model)
            labels = connection.scalar(select(suggestions.c.labels).where(mine))
            rows = connection.execute(standing(coder.id, document))
            decisions = {row.label: _decision(row) for row in rows}  # the last one on each label
            last = connection.execute(standing(coder.id, document, kinds=ENDING, newest=True)).first()
        return Opened(
            row.id, row.name, row.text, labels and _parsed(SUGGESTED, labels), decisions, last.key if last else ""
        )

    def decide(self, coder: Coder, key: str, document: int, decision: Decision, *, known: bool = True) -> None:
        """Write down what a coder says of a label; ``known``: it is a code that the desk knows.

        Raises:
            Refused: The document is not lent to the coder, or is finished, or a span is not inside its text.
        """
        spans = sorted({(start, end) for start, end in decision.spans})
        said = {"kind": decision.kind, "label": decision.label, "spans": _json(spans)}
        with self.writes.begin() as connection:
            if self.known(connection, coder, key, {"document": document, **said}):
                return
            if check_turn(connection, coder, document, time.time()):
                raise Refused("the document is finished; undo that first")
            length = connection.scalar(select(func.length(documents.c.text)).where(documents.c.id == document)) or 0
            if any(not 0 <= start < end <= length for start, end in spans):
                raise Refused(f"a span is not inside the text of {length} characters")
            self.append(connection, coder, key, document, finished=False, **said)
            if not known:
                remark(connection, coder.id, key, document, UNKNOWN, label=decision.label)

    def finish(self, coder: Coder, key: str, document: int) -> None:
        """End the coder's work on a document; Refused where it is not lent."""
        with self.writes.begin() as connection:
            if self.known(connection, coder, key, {"document": document, "kind": DONE}):
                return
            if not check_turn(connection, coder, document, time.time()):
                self.append(connection, coder, key, document, finished=True, kind=DONE)

    def undo(self, coder: Coder, key: str, document: int | None, last: str | None = None) -> int | None:
        """Take back what the coder did last in a document; where nothing, the finishing of the one before.

        What was taken back stays in the file, with the line that says so. Returns the document, lent again, or None
        where there is nothing to take back.

        Raises:
            Refused: The document is not lent to the coder; or ``last``, what the coder sees as done last, is not.
        """
        with self.writes.begin() as connection:
            sent = select(changes.c.document).where(changes.c.coder == coder.id, changes.c.key == key)
            if (known := connection.scalar(sent)) is not None:
                return known
            back = None
            if document is not None:
                check_turn(connection, coder, document, time.time())
                back = connection.execute(standing(coder.id, document, kinds=ENDING, newest=True)).first()
                if last is not None and last != (back.key if back else ""):
                    raise Refused("this document was changed in another tab: nothing was taken back, look again")
            back = back or connection.execute(standing(coder.id, kinds=(DONE,), newest=True)).first()
            if back is None:
                return None
            self.append(connection, coder, key, back.document, finished=False, kind=UNDO, undoes=back.id)
            return int(back.document)

    def known(self, connection: Connection, coder: Coder, key: str, said: dict[str, object]) -> bool:
        """Tell whether a change was written before; Refused where its key was used for another."""
        row = connection.execute(select(changes).where(changes.c.coder == coder.id, changes.c.key == key)).first()
        if row is not None and any(getattr(row, name) != value for name, value in said.items()):
            raise Refused("this key was used for another change")
        return row is not None

    def append(
        self, connection: Connection, coder: Coder, key: str, document: int, *, finished: bool, **said: object
    ) -> None:
        """Write a change of a coder's own work."""
        now, mine = time.time(), (work.c.document == document) & (work.c.coder == coder.id)
        values = {"coder": coder.id, "document": document, "key": key, "at": now, **said}
        connection.execute(insert(changes).values(values))
        until = 0.0 if finished else now + LEASE
        connection.execute(update(work).where(mine).values(finished=int(finished), until=until))
        if said["kind"] in (DONE, UNDO):
            ask_further(connection, document, self.readers(connection, document))

    def readers(self, connection: Connection, document: int) -> int:
        """Return how many readers a document needs on which coders are split; 0 where they are not, or a lead spoke."""
        finishers = select(coders.c.id, coders.c.role).join_from(coders, work).where(work.c.finished == 1)
        roles = {row.id: row.role for row in connection.execute(finishers.where(work.c.document == document))}
        if len(roles) < 2 or LEAD in roles.values():
            return 0
        labels: dict[int, dict[str, Decision]] = {coder: {} for coder in roles}
        for row in connection.execute(standing(document=document)):
            labels.setdefault(row.coder, {})[row.label] = _decision(row)
        gave = {coder: given(labels[coder]) for coder in roles}
        return (len(roles) + 1) * are_split(connection, document, gave)

    def import_coded(
        self,
        coder: Coder,
        sent: Iterable[tuple[str, str, Sequence[Decision]]],
        date: str | None = None,
        wanted: int = 1,
        unknown: Collection[str] = (),
    ) -> list[int]:
        """Put documents into the queue as finished by a coder, all or none: name, text and what was decided elsewhere.

        Arguments and what is returned as of :meth:`add_documents`; documents that were there stay as they are.
        ``unknown`` are labels that are no known codes.
        """
        coded, ids = list(sent), list[int]()
        with self.writes.begin() as connection:
            for name, content, decisions in coded:
                ids.append(document := _added(connection, name, content, date, wanted))
                if not document:
                    continue
                self.lend(connection, coder, document, "", time.time(), opened=False)  # no time was taken here
                for place, decision in enumerate(decisions):
                    said = {"kind": decision.kind, "label": decision.label, "spans": _json(decision.spans)}
                    key = f"import {document} {place}"
                    self.append(connection, coder, key, document, finished=False, **said)
                    if decision.label in unknown:
                        remark(connection, coder.id, key, document, UNKNOWN, label=decision.label)
                self.append(connection, coder, f"import {document}", document, finished=True, kind=DONE)
        return ids

    def finished(self, document: int | None = None) -> Iterator[tuple[int, str, list[Work]]]:
        """Yield each document, or one, that somebody has finished: id, text, and who did: coder, model, decisions."""
        done = select(work).where(work.c.finished == 1).order_by(work.c.document, work.c.coder)
        texts = select(documents.c.id, documents.c.text).order_by(documents.c.id)
        if document is not None:
            done, texts = done.where(work.c.document == document), texts.where(documents.c.id == document)
        with self.reads.begin() as connection:
            decisions: dict[tuple[int, int], dict[str, Decision]] = {}
            for row in connection.execute(standing(document=document)):
                decisions.setdefault((row.document, row.coder), {})[row.label] = _decision(row)
            by: dict[int, list[Work]] = {}
            for row in connection.execute(done):
                coded = (row.coder, row.model, decisions.get((row.document, row.coder), {}))
                by.setdefault(row.document, []).append(coded)
            for number, content in connection.execute(texts):
                if number in by:
                    yield number, content, by[number]

    def suggested(self) -> dict[tuple[int, str], list[Suggested]]:
        """Return document and model → what it suggested."""
        with self.reads.begin() as connection:
            return {
                (row.document, row.model): _parsed(SUGGESTED, row.labels)
                for row in connection.execute(select(suggestions))
            }

    def size(self) -> int:
        """Count the documents."""
        with self.reads.begin() as connection:
            return connection.scalar(select(func.count()).select_from(documents)) or 0

    def times(self) -> list[tuple[int, int, float, str]]:
        """Return coder, document, time and kind of each opening and finishing that was not taken back, in order."""
        with self.reads.begin() as connection:
            rows = connection.execute(standing(kinds=(OPEN, DONE)))
            return [(row.coder, row.document, row.at, row.kind) for row in rows]


def _added(connection: Connection, name: str, content: str, date: str | None, wanted: int) -> int:
    """Return the id of a new document, 0 where it is there already."""
    digest = document_hash(name, content)
    day = date or calendar_date.today().isoformat()
    values = {"hash": digest, "name": name, "text": content, "date": day, "wanted": wanted}
    row = insert_or_ignore(documents).values(values).on_conflict_do_nothing().returning(documents.c.id)
    return connection.scalar(row) or 0


def standing(
    coder: int | None = None, document: int | None = None, *, kinds: Sequence[str] = DECISIONS, newest: bool = False
) -> Select[tuple[object, ...]]:
    """Select the changes that were not taken back, the oldest first."""
    back = changes.alias()
    wanted = (
        select(changes)
        .where(changes.c.kind.in_(kinds))
        .where(~select(text("1")).select_from(back).where(back.c.undoes == changes.c.id).exists())
        .order_by(changes.c.id.desc() if newest else changes.c.id)
    )
    if coder is not None:
        wanted = wanted.where(changes.c.coder == coder)
    if document is not None:
        wanted = wanted.where(changes.c.document == document)
    return wanted.limit(1) if newest else wanted


def _decision(row: Row[tuple[object, ...]]) -> Decision:
    return Decision(row.label, row.kind, _parsed(PLACES, row.spans), row.at)


def _parsed(reader: TypeAdapter[Content], content: str) -> Content:
    """Read a column of JSON; a DataError, which does not show it, where it is none that a desk writes."""
    try:
        return reader.validate_json(content)
    except ValidationError:
        what, fix = "the desk's file holds what no desk writes", "restore a backup"
        raise DataError(what, where="columns spans and labels", fix=fix) from None


def given(decisions: dict[str, Decision]) -> list[str]:
    """Return the labels that decisions give."""
    return [label for label, decision in decisions.items() if gives(decision)]


def gives(decision: Decision) -> bool:
    """Tell whether a decision gives the document the label."""
    return decision.kind != REJECT


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))
