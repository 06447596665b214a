"""Why a code was not suggested: its place among all codes, its probability, and the words that speak for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from typing_extensions import TypedDict

from plant_plugin.data.text import Spans
from plant_plugin.errors import ConfigError
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.asked import LABEL_LENGTH, Place
from plant_plugin.serving.desk.web import PATH, At, Reads

why_router = APIRouter(prefix=PATH, include_in_schema=False)


class Why(TypedDict):
    """How a model sees a code that it knows."""

    place: int  # from 1, the most probable first
    labels: int  # that the model knows
    probability: float
    threshold: float  # a probability, above which it suggests codes
    spans: Spans  # words that speak for the code, the strongest first, in characters


def why(predictor: Predictor, texts: Sequence[str], label: str) -> list[Why | None]:
    """Return for each text how the model sees a label; None where it does not know the label."""
    if label not in predictor.labels:
        return [None] * len(texts)
    column = predictor.labels.index(label)
    return [
        _why(predictor, text, column, row.tolist()) for text, row in zip(texts, predictor.logits(texts), strict=True)
    ]


def _why(predictor: Predictor, text: str, column: int, logits: list[float]) -> Why:
    spans: Spans = []
    with suppress(ConfigError):  # the model shows no words, or its tokenizer no places
        [explained] = predictor.explain(text, [predictor.labels[column]]).labels
        spans = [(part.start, part.end) for part in explained.passages]
    return Why(
        place=1 + sum(logit > logits[column] for logit in logits),
        labels=len(logits),
        probability=predictor.scored_label(column, logits[column]).probability,
        threshold=predictor.scored_label(column, predictor.limit()).probability,
        spans=spans,
    )


@why_router.get("/why")
async def why_not(
    document: Place, label: Annotated[str, Field(max_length=LABEL_LENGTH)], who: Reads, at: At
) -> Why | None:
    """Return how the model sees a code in a document that is lent to the coder; null: it does not know the code."""
    opened = await run_in_threadpool(at.desk.opened, who.coder, document, at.model)
    [answer] = await at.queue.ask(partial(why, at.predictor), [opened.text], label)
    return answer
