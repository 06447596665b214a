"""What a lead does on the page as well as by command: makes accounts and adds documents, with the command's checks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from plant_plugin.data.columns import DEFAULT
from plant_plugin.data.not_empty import not_empty
from plant_plugin.data.several_files import documents_of
from plant_plugin.errors import PlantError
from plant_plugin.serving.desk.lead_web import Lead, lead_router
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.turns import Refused
from plant_plugin.serving.desk.web import PATH, At
from plant_plugin.serving.desk.why import why_router

team_router = APIRouter(prefix=PATH, include_in_schema=False)
ROUTERS = (lead_router, why_router, team_router)  # beside the page's own


class AccountQuestion(BaseModel):
    """A new account."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(max_length=60)]
    role: Literal["coder", "lead"]


@contextmanager
def _as_refusal(folder: str = "") -> Iterator[None]:
    """Tell the page what a command would print, without the folder that only this machine knows."""
    try:
        yield
    except PlantError as error:
        raise Refused(error.message.replace(os.path.join(folder, ""), "")) from None


def add_file(desk: Desk, name: str, content: bytes, coders: int) -> dict[str, object]:
    """Add the documents of a file as ``plant desk add-documents`` does; all of them or, where one is bad, none.

    Raises:
        Refused: What is wrong with the file, where, and how to mend it.
    """
    with TemporaryDirectory() as folder, _as_refusal(folder):
        path = Path(folder) / name
        path.write_bytes(content)
        read = documents_of((str(path),), None, DEFAULT._replace(labels=None))
        ids = desk.add_documents([(document.name, document.text) for document in not_empty(read)], wanted=coders)
    there, note = ids.count(0), read.note.replace(folder + os.sep, "")
    return {"added": len(ids) - there, "there": there, "note": note}


@team_router.post("/accounts")
def make_account(question: AccountQuestion, who: Lead, at: At) -> dict[str, str]:
    """Make an account, and return its token this once."""
    with _as_refusal():
        return {"token": at.desk.people.add(question.name, question.role)}


@team_router.post("/upload")
async def upload(
    request: Request,
    who: Lead,
    at: At,
    name: Annotated[str, Field(pattern=r"^[^/\\.\x00-\x1f][^/\\\x00-\x1f]*$", max_length=60)],
    coders: Annotated[int, Field(ge=1, le=9)] = 1,
) -> dict[str, object]:
    """Add the documents of a file, which is the body of the request."""
    return await run_in_threadpool(add_file, at.desk, name, await request.body(), coders)
