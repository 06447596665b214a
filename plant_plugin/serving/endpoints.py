"""What the server answers: under ``/v1``, which OpenAPI describes, and under the paths that came before it.

Everything under ``/v1`` names the model that answers. The older paths answer as they always did.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import version
from typing import Annotated, cast
from urllib.parse import quote

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response, Security
from fastapi.params import Depends
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from pydantic import BaseModel, Field
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send
from typing_extensions import TypedDict

from plant_plugin.files import sha256
from plant_plugin.model.explanation import Explanation
from plant_plugin.model.formats import Explained, ExplainedLabel, as_dictionary
from plant_plugin.model.manifest import MANIFEST
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.serving.model_queue import Answer
from plant_plugin.serving.questions import (
    READY,
    ExplainQuestion,
    Health,
    Predicted,
    PredictQuestion,
    Problem,
    Status,
)

RESPONSES: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "The body is no JSON, or the host is not this server's"},
    401: {"model": Problem, "description": "The server has a token, and the request brings another or none"},
    408: {"description": "The request did not arrive in time"},
    413: {"model": Problem, "description": "The body is too long"},
    422: {"model": Problem, "description": "The request cannot be answered as it is"},
    500: {"model": Problem, "description": "The model could not do it"},
    503: {"model": Problem, "description": "Too many requests wait, or the time is up"},
}
OF_HEALTH: dict[int | str, dict[str, object]] = {status: RESPONSES[status] for status in (400, 401)}
NOT_READY: dict[int | str, dict[str, object]] = {503: {"model": Status, "description": "Not yet, or not any more"}}


class ModelName(BaseModel):
    """The model that answers."""

    name: Annotated[str, Field(description="Of its folder, or its file.")]
    version: Annotated[str, Field(description="Of plant_plugin, which runs it.")]
    hash: Annotated[str, Field(description="SHA-256 of its manifest.json, which has that of each file of the model.")]

    @classmethod
    def of(cls, predictor: Predictor) -> ModelName:
        """Return that of a model that was read."""
        return cls(name=predictor.name, version=version("plant-plugin"), hash=sha256(predictor.folder / MANIFEST))


class NamedHealth(BaseModel):
    """What runs here."""

    status: str
    model: ModelName
    network: str
    labels: int
    thresholds: list[str]


class NamedPredicted(Predicted):
    """Predictions in the order of the texts."""

    model: ModelName


class NamedExplained(TypedDict):
    """An explanation."""

    model: ModelName
    tokens: int
    cut: bool
    labels: list[ExplainedLabel]


class NamesModel:
    """ASGI middleware: names the model in three headers of every answer, also of errors and pages."""

    def __init__(self, app: ASGIApp, model: ModelName) -> None:
        self.app = app
        self.headers = {f"x-model-{part}": quote(value) for part, value in model.model_dump().items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, send_named)


class Asker:
    """Asks the model, through the queue of an application, what requests want to know of it."""

    def __init__(self, app: FastAPI, predictor: Predictor) -> None:
        self.app, self.predictor = app, predictor

    async def predictions(self, question: PredictQuestion, request: Request) -> list[Prediction]:
        """Return the labels of texts."""
        thresholds = self.predictor.thresholds
        if isinstance(question.threshold, str) and question.threshold not in thresholds:
            raise HTTPException(422, f"body.threshold: the model has {', '.join(thresholds)}")
        return list(await self._ask(self._predict, request, question.texts, (question.threshold, question.top)))

    def _predict(self, texts: list[str], question: tuple[float | str | None, int | None]) -> list[Prediction]:
        threshold, top = question
        return self.predictor.predict(texts, threshold=threshold, top=top)

    async def explanation(self, question: ExplainQuestion, request: Request) -> Explained:
        """Return the explanation of labels of a text."""
        labels = None if question.labels is None else tuple(question.labels)
        unknown = [place for place, label in enumerate(labels or ()) if label not in self.predictor.column_of]
        if unknown:
            raise HTTPException(422, "; ".join(f"body.labels.{place}: no label of the model" for place in unknown))
        return as_dictionary(await self.explained(question.text, request, labels, question.top))

    async def explained(
        self, text: str, request: Request, labels: tuple[str, ...] | None = None, top: int | None = None
    ) -> Explanation:
        """Return an explanation; of the predicted labels where none is named."""
        [explanation] = await self._ask(self._explain, request, [text], (labels, top))
        return explanation

    def _explain(self, texts: list[str], question: tuple[tuple[str, ...] | None, int | None]) -> list[Explanation]:
        labels, top = question
        return [self.predictor.explain(text, labels, top=top) for text in texts]

    async def _ask(
        self, work: Callable[..., Sequence[Answer]], request: Request, texts: list[str], question: Hashable
    ) -> Sequence[Answer]:
        """Ask, and count the texts."""
        request.state.texts = len(texts)
        self.app.state.metrics.texts.labels(request.scope["route"].path).inc(len(texts))
        answers: Sequence[Answer] = await self.app.state.queue.ask(work, texts, question)
        return answers


def new_application(lifespan: Lifespan[FastAPI] | None = None) -> FastAPI:
    """Return FastAPI with the script of its page of its own, in the place of another server's."""
    return FastAPIOffline(
        title="plant serve", version=version("plant-plugin"), redoc_url=None,
        description="Labels of texts, by one trained model. No text is kept or logged.", lifespan=lifespan,
    )  # fmt: skip


def description(*, token: bool = False) -> dict[str, object]:
    """Return the OpenAPI description of every server, with a token or without."""
    app = new_application()
    nobody = Asker(app, cast(Predictor, None))  # who is asked nothing
    add_endpoints(app, nobody, ModelName(name="", version="", hash=""), token=token)
    return app.openapi()


def add_endpoints(app: FastAPI, asker: Asker, model: ModelName, *, token: bool) -> None:
    """Add what is asked of the model, and by those who run the server. Errors name the place, not the content."""
    # The security is only for the OpenAPI page: the middleware has refused before a question is looked at.
    secured = [Security(HTTPBearer(auto_error=False))] if token else []
    app.include_router(_questions(asker, model, secured))
    app.include_router(_state(asker, model, secured))
    app.include_router(_before(asker, model), include_in_schema=False)


def _questions(asker: Asker, model: ModelName, secured: list[Depends]) -> APIRouter:
    router = APIRouter(tags=["model"], responses=RESPONSES, dependencies=secured)

    @router.post("/v1/predict", operation_id="predict", summary="Predict the labels of texts")
    async def predict(question: PredictQuestion, request: Request) -> NamedPredicted:
        return NamedPredicted(model=model, predictions=await asker.predictions(question, request))

    @router.post("/v1/explain", operation_id="explain", summary="Explain labels of a text by its words")
    async def explain(question: ExplainQuestion, request: Request) -> NamedExplained:
        explained = await asker.explanation(question, request)
        return {**explained, "model": model}

    return router


def _state(asker: Asker, model: ModelName, secured: list[Depends]) -> APIRouter:
    router = APIRouter(tags=["server"])

    @router.get("/v1/health", operation_id="health", summary="Say which model runs", responses=OF_HEALTH,
                dependencies=secured)  # fmt: skip
    async def health() -> NamedHealth:
        return NamedHealth(
            status="ok",
            model=model,
            network=asker.predictor.network_name,
            labels=len(asker.predictor.labels),
            thresholds=list(asker.predictor.thresholds),
        )

    @router.get("/v1/ready", operation_id="ready", summary="Say whether the model answers", responses=NOT_READY)
    async def ready(response: Response) -> Status:
        return _status(asker.app, response)

    return router


def _before(asker: Asker, model: ModelName) -> APIRouter:
    """Return the paths that came before ``/v1``."""
    router = APIRouter()

    @router.post("/predict")
    async def predict(question: PredictQuestion, request: Request) -> Predicted:
        return Predicted(predictions=await asker.predictions(question, request))

    @router.post("/explain")
    async def explain(question: ExplainQuestion, request: Request) -> Explained:
        return await asker.explanation(question, request)

    @router.get("/health")
    async def health() -> Health:
        return Health(
            status="ok",
            version=model.version,
            model=asker.predictor.network_name,
            labels=len(asker.predictor.labels),
            thresholds=list(asker.predictor.thresholds),
            name=model.name,
            hash=model.hash,
        )

    @router.get("/ready")
    async def ready(response: Response) -> Status:
        return _status(asker.app, response)

    return router


def _status(app: FastAPI, response: Response) -> Status:
    if app.state.status != READY:
        response.status_code = 503
    return Status(status=app.state.status)
