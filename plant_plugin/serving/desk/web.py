"""What the desk's page asks for.

Whoever is not signed in gets the page, which holds nothing, and 401. A sign-in is a cookie that no script reads and no
other site's request carries (HttpOnly, SameSite=Strict); what changes something bears a second word, which only the
page knows, in a header that no other site's page can set.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import time
from typing import Annotated

from fastapi import Depends, HTTPException, Request, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from plant_plugin.model.predictor import Predictor
from plant_plugin.model.scored_label import Hint
from plant_plugin.serving.desk.asked import (
    LABEL_LENGTH,
    DecideQuestion,
    FinishQuestion,
    NextQuestion,
    Place,
    TokenQuestion,
    UndoQuestion,
)
from plant_plugin.serving.desk.comments import CommentQuestion, UnsureQuestion, comment, mark_unsure
from plant_plugin.serving.desk.document_page import hints_of, shown
from plant_plugin.serving.desk.figures import Figures, figures_apart
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.order import OrderQuestion, put_in_order
from plant_plugin.serving.desk.page import PATH, router
from plant_plugin.serving.desk.people import LONGEST, SignIn
from plant_plugin.serving.desk.store import Decision, Desk, Suggestions
from plant_plugin.serving.desk.suggestions import AHEAD, model_hash, suggest
from plant_plugin.serving.desk.tables import REJECT
from plant_plugin.serving.desk.tries import Tries
from plant_plugin.serving.desk.turns import Refused
from plant_plugin.serving.model_queue import Busy, Failed, ModelQueue

logger = logging.getLogger(__name__)

COOKIE = "plant_desk"
WAIT = 2.0  # seconds between two looks for documents that the model has not read
FRESH = 30.0  # seconds for which figures are not counted again
UNREADABLE = HTTPException(401, "sign in")
ELSEWHERE = HTTPException(403, "this request does not come from the desk's page")


class Sitting:
    """A desk, and the model that suggests."""

    def __init__(self, desk: Desk, predictor: Predictor, queue: ModelQueue) -> None:
        self.desk, self.predictor, self.queue = desk, predictor, queue
        self.model, self.codes = model_hash(predictor), Codes(predictor.labels, predictor.names)
        self.tries = Tries()
        self._figures: tuple[float, Figures] | None = None  # when they were counted
        self._counting = asyncio.Lock()

    async def figures(self) -> Figures:
        """Return the figures, as of ``FRESH`` seconds ago at most; counted once for all who ask meanwhile."""
        async with self._counting:
            if self._figures is None or time.monotonic() - self._figures[0] > FRESH:
                counted = await run_in_threadpool(figures_apart, self.desk.path)
                self._figures = time.monotonic(), counted
            return self._figures[1]

    async def ahead(self) -> None:
        """Let the model read what it has not, for as long as the server runs; whoever waits comes between."""
        after = 0
        while True:
            try:
                while unread := await run_in_threadpool(self.desk.unread, self.model, AHEAD, after):
                    after = unread[-1][0]  # what cannot be read waits until the others are through
                    try:
                        await self.read(unread, patient=True)
                    except Failed:
                        for document in unread if len(unread) > 1 else ():  # a single one may be the reason
                            with contextlib.suppress(Failed):
                                await self.read([document], patient=True)
                after = 0
            except Exception as error:  # of whatever kind: the next look comes all the same
                if not isinstance(error, (Busy, Failed)):  # the log has these
                    logger.error("reading ahead failed: %s", type(error).__name__)
            await asyncio.sleep(WAIT)

    async def read(self, unread: list[tuple[int, str]], *, patient: bool = False) -> None:
        """Let the model read documents, and keep what it suggests, however long that takes where ``patient``."""
        ids, texts = zip(*unread, strict=True)
        suggestions = await self.queue.ask(self._suggest, list(texts), patient=patient)
        await run_in_threadpool(self.desk.suggest, self.model, list(zip(ids, suggestions, strict=True)))

    def _suggest(self, texts: list[str], question: None) -> list[Suggestions]:
        return suggest(self.predictor, texts)

    async def shown(self, who: SignIn, document: int | None) -> dict[str, object]:
        """Return what the page shows: a document, and how many wait."""
        left = await run_in_threadpool(self.desk.left, who.coder)
        if document is None:
            return {"document": None, "left": left}
        opened = await run_in_threadpool(self.desk.opened, who.coder, document, self.model)
        if opened.suggested is None:
            await self.read([(opened.id, opened.text)])
            opened = await run_in_threadpool(self.desk.opened, who.coder, document, self.model)
        page = await run_in_threadpool(shown, self.desk, who.coder, opened, self.predictor, self.codes)
        return {"document": page, "left": left}


def at_desk(request: Request) -> Sitting:
    """Return the desk of the application."""
    sitting: Sitting = request.app.state.sitting
    return sitting


At = Annotated[Sitting, Depends(at_desk)]


def same_site(request: Request) -> None:
    """403 where the browser says that another site's page sends the request."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise ELSEWHERE


def signed_in(request: Request, at: At) -> SignIn:
    """Return who asks; 401 where it is nobody."""
    sign_in = at.desk.people.signed_in(request.cookies.get(COOKIE, ""))
    if sign_in is None:
        raise UNREADABLE
    return sign_in


Reads = Annotated[SignIn, Depends(signed_in)]


def from_page(request: Request, who: Reads) -> SignIn:
    """Return who asks by the desk's page; else 403."""
    same_site(request)
    if not hmac.compare_digest(request.headers.get("x-csrf", "").encode(), who.csrf.encode()):
        raise ELSEWHERE
    return who


Changes = Annotated[SignIn, Depends(from_page)]


@router.post("/sign-in", dependencies=[Depends(same_site)])
def sign_in(question: TokenQuestion, at: At, request: Request, response: Response) -> dict[str, str]:
    """Begin a sign-in with a token."""
    address = request.client.host if request.client else ""
    if seconds := at.tries.seconds(address):
        raise HTTPException(429, f"too many tries; wait {seconds} seconds", {"retry-after": str(seconds)})
    begun = at.desk.people.sign_in(question.token)
    if begun is None:
        at.tries.failed(address)
        raise HTTPException(401, "no coder has this token; ask who runs the desk for a new one")
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, begun.secret, max_age=int(LONGEST), path=PATH, httponly=True, samesite="strict", secure=secure
    )
    return me(begun)


@router.get("/me")
def me(who: Reads) -> dict[str, str]:
    """Return who is signed in, and the word that changes bear."""
    return {"coder": who.coder.name, "role": who.coder.role, "csrf": who.csrf}


@router.post("/sign-out")
def sign_out(who: Changes, at: At, response: Response) -> None:
    """End the sign-in."""
    at.desk.people.sign_out(who.secret)
    response.delete_cookie(COOKIE, path=PATH)


@router.post("/next")
async def next_document(question: NextQuestion, who: Changes, at: At) -> dict[str, object]:
    """Lend the coder a document."""
    return await at.shown(who, await run_in_threadpool(at.desk.next, who.coder, question.order, at.model))


@router.get("/codes")
def search(q: Annotated[str, Field(max_length=LABEL_LENGTH)], who: Reads, at: At) -> list[dict[str, str | None]]:
    """Find labels by a part of their number or name."""
    return [{"label": label, "name": at.codes.name(label)} for label in at.codes.search(q)]


@router.post("/decide")
def decide(question: DecideQuestion, who: Changes, at: At) -> None:
    """Write down a decision; once, however often it is sent."""
    known = question.kind == REJECT or at.codes.knows(question.label)
    if not known and not question.confirmed:
        raise Refused(f"{question.label} is no code that this desk knows. Take it all the same?")
    said = Decision(question.label, question.kind, question.spans)
    at.desk.decide(who.coder, question.key, question.document, said, known=known)


@router.post("/comment")
def write_comment(question: CommentQuestion, who: Changes, at: At) -> None:
    """Write a comment on a document down."""
    comment(at.desk, who.coder, question)


@router.post("/unsure")
def write_unsure(question: UnsureQuestion, who: Changes, at: At) -> None:
    """Write down whether a coder is unsure of a code."""
    mark_unsure(at.desk, who.coder, question)


@router.post("/order")
def write_order(question: OrderQuestion, who: Changes, at: At) -> None:
    """Write down in which order the coder puts the codes of a document."""
    put_in_order(at.desk.writes, who.coder, question)


@router.get("/hints")
def hints(document: Place, who: Reads, at: At) -> dict[str, list[Hint]]:
    """Return what the rules for codes say, as far as it is decided."""
    return hints_of(at.desk.opened(who.coder, document, at.model), at.predictor)


@router.post("/finish")
def finish(question: FinishQuestion, who: Changes, at: At) -> None:
    """Write down that all is said of a document."""
    at.desk.finish(who.coder, question.key, question.document)


@router.post("/undo")
async def undo(question: UndoQuestion, who: Changes, at: At) -> dict[str, object]:
    """Take the last decision back."""
    reopened = await run_in_threadpool(at.desk.undo, who.coder, question.key, question.document, question.last)
    return await at.shown(who, reopened if reopened is not None else question.document)
