"""What the desk's page sends: questions over HTTP, with the values that they may have."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SPANS, LABEL_LENGTH = 200, 200  # of a decision, at most


class _Question(BaseModel):
    model_config = ConfigDict(extra="forbid")


Key = Annotated[str, Field(pattern=r"^[\w-]{8,64}$")]
Place = Annotated[int, Field(ge=0, lt=2**31)]


class TokenQuestion(_Question):
    """A sign-in."""

    token: Annotated[str, Field(max_length=200)]


class NextQuestion(_Question):
    """The next document."""

    order: Literal["uncertainty", "date", "sent"] = "uncertainty"


class UndoQuestion(_Question):
    """An undo of the last decision on a document."""

    key: Key
    document: Place | None = None
    last: Annotated[str, Field(max_length=80)] | None = None  # key of what the page shows as done last


class FinishQuestion(_Question):
    """All is said of a document."""

    key: Key
    document: Place


class DecideQuestion(FinishQuestion):
    """A coder's word on a label."""

    label: Annotated[str, Field(pattern=r"^[^\s\x00-\x1f]+$", max_length=LABEL_LENGTH)]
    kind: Literal["accept", "reject", "add"]
    spans: Annotated[list[tuple[Place, Place]], Field(max_length=SPANS)] = []
    confirmed: bool = False  # the coder wants the label though the desk knows no such code
