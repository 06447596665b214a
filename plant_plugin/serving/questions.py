"""Requests and their answers; :class:`.formats.Explained` is the answer of ``/explain``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from plant_plugin.model.predictor import Prediction

Probability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]

DOCUMENTS = 64  # of a request, and of what the model is given together
EXPLAINED = 50  # labels of a request
STARTING, READY, ENDING = "starting", "ready", "ending"


def _unicode(text: str) -> str:
    """JSON can name half a character, which no tokenizer takes."""
    text.encode()
    return text


Text = Annotated[str, AfterValidator(_unicode)]


class PredictQuestion(BaseModel):
    """Documents whose labels are wanted."""

    model_config = ConfigDict(extra="forbid")

    threshold: Probability | Text | None = Field(
        None, description="A probability, or a name: `micro`, `macro`, `promise 0.9`. None: `micro`, else 0.5."
    )
    top: Annotated[int, Field(ge=1, le=10_000)] | None = Field(None, description="At most so many labels.")
    texts: Annotated[list[Text], Field(min_length=1, max_length=DOCUMENTS, description="The documents.")]


class Predicted(BaseModel):
    """Predictions in the order of the texts."""

    predictions: list[Prediction]


class ExplainQuestion(BaseModel):
    """A document, and the labels to explain; without any, the predicted ones, or the five best where none is."""

    model_config = ConfigDict(extra="forbid")

    text: Text
    labels: Annotated[list[Text], Field(min_length=1, max_length=EXPLAINED)] | None = None
    top: Annotated[int, Field(ge=1, le=EXPLAINED)] | None = Field(None, description="The best so many instead.")


class Health(BaseModel):
    """The model that runs here."""

    status: str
    version: str
    model: str
    labels: int
    thresholds: list[str]
    name: str
    hash: str


class Status(BaseModel):
    """The state of the server."""

    status: Literal["starting", "ready", "ending"]


class Problem(BaseModel):
    """A reason why a request is not answered; never its content."""

    detail: str
