"""What the desk's page asks for a lead: figures, the list of documents, and what a lead does with one."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException
from starlette.concurrency import run_in_threadpool

from plant_plugin.serving.desk.asked import FinishQuestion, Place
from plant_plugin.serving.desk.comments import RemarkedDocuments, with_remarks
from plant_plugin.serving.desk.figures import Figures
from plant_plugin.serving.desk.lead import documents_of, give, reopen, take
from plant_plugin.serving.desk.people import LEAD, SignIn
from plant_plugin.serving.desk.web import PATH, At, Changes, Reads

lead_router = APIRouter(prefix=PATH, include_in_schema=False)


def _lead_reads(who: Reads) -> SignIn:
    """Return who asks; 403 where it is no lead."""
    if who.coder.role != LEAD:
        raise HTTPException(403, "this is for leads")
    return who


def _lead_changes(who: Changes) -> SignIn:
    """Return who asks by the desk's page; 403 where it is no lead."""
    return _lead_reads(who)


Lead = Annotated[SignIn, Depends(_lead_changes)]


class OfCoderQuestion(FinishQuestion):
    """A document, and one of its coders."""

    coder: str


@lead_router.get("/figures", dependencies=[Depends(_lead_reads)])
async def team_figures(at: At) -> Figures:
    """Return the figures of the team."""
    return await at.figures()


@lead_router.get("/documents", dependencies=[Depends(_lead_reads)])
def documents(
    at: At,
    state: Literal["", "open", "begun", "split", "done"] = "",
    name: str = "",
    after: Place = 0,
) -> RemarkedDocuments:
    """Return documents with how far they are."""
    return with_remarks(at.desk, documents_of(at.desk, state, name, after))


@lead_router.post("/give")
def give_document(question: OfCoderQuestion, who: Lead, at: At) -> None:
    """Let a document be a coder's next."""
    give(at.desk, who.coder, question.key, question.document, question.coder)


@lead_router.post("/reopen")
def reopen_document(question: OfCoderQuestion, who: Lead, at: At) -> None:
    """Take back that a coder has finished a document."""
    reopen(at.desk, who.coder, question.key, question.document, question.coder)


@lead_router.post("/take")
async def take_document(question: FinishQuestion, who: Lead, at: At) -> dict[str, object]:
    """Lend the lead a document."""
    await run_in_threadpool(take, at.desk, who.coder, question.key, question.document, at.model)
    return await at.shown(who, question.document)
