"""A coder's comment on a document, and codes of which a coder is unsure: both are for the lead, and decide nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from typing_extensions import TypedDict

from plant_plugin.serving.desk.asked import LABEL_LENGTH, FinishQuestion
from plant_plugin.serving.desk.lead import Documents
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.remarks import COMMENT, SURE, UNSURE, remark, remarks
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.tables import coders
from plant_plugin.serving.desk.turns import Refused, check_turn


class CommentQuestion(FinishQuestion):
    """A comment on a document; an empty one takes it back."""

    text: Annotated[str, Field(max_length=2000)]


class UnsureQuestion(FinishQuestion):
    """Whether a coder is unsure of a code."""

    label: Annotated[str, Field(pattern=r"^\S+$", max_length=LABEL_LENGTH)]
    unsure: bool


class Remarks(TypedDict):
    """What a coder remarks on a document."""

    coder: str
    comment: str  # empty: none
    unsure: list[str]  # labels


class RemarkedDocuments(Documents):
    """A part of the lead's list, with what coders remark."""

    remarks: dict[int, list[Remarks]]  # by document


def comment(desk: Desk, coder: Coder, question: CommentQuestion) -> None:
    """Write a comment down; Refused where the document is not the coder's."""
    _write(desk, coder, question, COMMENT, text=question.text.strip())


def mark_unsure(desk: Desk, coder: Coder, question: UnsureQuestion) -> None:
    """Write down whether a coder is unsure of a code; Refused where the document is not the coder's."""
    _write(desk, coder, question, UNSURE if question.unsure else SURE, label=question.label)


def _write(desk: Desk, coder: Coder, question: FinishQuestion, kind: str, **said: str) -> None:
    with desk.writes.begin() as connection:
        if check_turn(connection, coder, question.document, time.time()):
            raise Refused("the document is finished; undo that first")
        remark(connection, coder.id, question.key, question.document, kind, **said)


def remarks_on(desk: Desk, documents: Sequence[int]) -> dict[int, list[Remarks]]:
    """Return what coders remark on documents, for each that has a remark which was not taken back."""
    wanted = select(remarks, coders.c.name).join_from(remarks, coders, remarks.c.coder == coders.c.id)
    wanted = wanted.where(remarks.c.document.in_(documents), remarks.c.kind.in_((COMMENT, UNSURE, SURE)))
    found: dict[tuple[int, str], Remarks] = {}
    with desk.reads.begin() as connection:
        for row in connection.execute(wanted.order_by(remarks.c.id)):  # the last word stands
            said = found.setdefault((row.document, row.name), Remarks(coder=row.name, comment="", unsure=[]))
            if row.kind == COMMENT:
                said["comment"] = row.text
            else:
                others = [label for label in said["unsure"] if label != row.label]
                said["unsure"] = [*others, row.label] if row.kind == UNSURE else others
    by: dict[int, list[Remarks]] = {}
    for (document, _), said in found.items():
        if said["comment"] or said["unsure"]:
            by.setdefault(document, []).append(said)
    return by


def with_remarks(desk: Desk, found: Documents) -> RemarkedDocuments:
    """Return a part of the lead's list with what coders remark."""
    return {**found, "remarks": remarks_on(desk, [one["id"] for one in found["documents"]])}


def seen_by(desk: Desk, document: int, coder: Coder, *, all_of_them: bool) -> list[Remarks]:
    """Return what a coder may see of the remarks on a document: the own, a lead ``all_of_them``."""
    return [one for one in remarks_on(desk, [document]).get(document, []) if all_of_them or one["coder"] == coder.name]
