"""The web application: endpoints, errors, pages."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from fastapi import FastAPI, HTTPException, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPBearer
from fastapi_offline import FastAPIOffline
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from plant_plugin.errors import PlantError
from plant_plugin.model.explanation import Explanation
from plant_plugin.model.formats import Explained, as_dictionary
from plant_plugin.model.page import page
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.serving.access import BearerToken, BodyLimit, Limits
from plant_plugin.serving.metrics import Answers, Metrics
from plant_plugin.serving.model_queue import Busy, Failed, ModelQueue
from plant_plugin.serving.questions import (
    DOCUMENTS,
    READY,
    STARTING,
    ExplainQuestion,
    Health,
    Predicted,
    PredictQuestion,
    Problem,
    Status,
)

if TYPE_CHECKING:
    from plant_plugin.serving.desk.store import Desk

logger = logging.getLogger(__name__)

RESPONSES: dict[int | str, dict[str, object]] = {
    400: {"model": Problem, "description": "The body is no JSON, or the host is not this server's"},
    401: {"model": Problem, "description": "The server has a token, and the request brings another or none"},
    408: {"description": "The request did not arrive in time"},
    413: {"model": Problem, "description": "The body is too long"},
    422: {"model": Problem, "description": "The request cannot be answered as it is"},
    500: {"model": Problem, "description": "The model could not do it"},
    503: {"model": Problem, "description": "Too many requests wait, or the time is up"},
}
FIELDS = {"body", "texts", "text", "labels", "threshold", "top"}
FORM_HEADERS = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"}


def create_app(
    predictor: Predictor,
    limits: Limits | None = None,
    hosts: list[str] | None = None,
    token: str | None = None,
    desk: Desk | None = None,
) -> FastAPI:
    """Make the application for one model; :class:`.connections.Server` runs it.

    ``hosts`` are names under which it is called; a request for another is refused, so that no web page can reach a
    server in the reader's network under a name of its own. None: any. ``token`` is what requests have to bring; None:
    nothing. ``desk`` is where coders work at ``/desk``, each with a token of their own.
    """
    limits = limits or Limits()
    queue = ModelQueue(limits.waiting, limits.seconds, DOCUMENTS)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with queue.running():
            tasks = [asyncio.create_task(_wake(app, predictor))]
            if sitting is not None:
                tasks.append(asyncio.create_task(sitting.ahead()))
            yield
            for task in tasks:
                task.cancel()

    app = FastAPIOffline(  # FastAPI, whose OpenAPI page takes its script from another server, with a script of its own
        title="plant serve", version=version("plant-plugin"), lifespan=lifespan, redoc_url=None,
        description="Labels of texts, by one trained model. No text is kept or logged.",
    )  # fmt: skip
    metrics = Metrics(lambda: queue.asked)
    app.state.queue, app.state.metrics, app.state.status = queue, metrics, STARTING
    metrics.ready.set_function(lambda: app.state.status == READY)
    _add_errors(app)
    app.add_middleware(BodyLimit, limit=limits.body_bytes)
    if token is not None:
        backend = BearerToken(token, elsewhere=() if desk is None else ("/desk",))
        app.add_middleware(
            AuthenticationMiddleware,
            backend=backend,
            on_error=lambda request, error: _problem(401, str(error), **{"www-authenticate": "Bearer"}),
        )
    if hosts is not None:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)
    app.add_middleware(Answers, metrics=metrics)
    # Only for the OpenAPI page: the middleware has refused before a question is looked at.
    secured = [] if token is None else [Security(HTTPBearer(auto_error=False))]
    _add_questions(app, predictor, secured)
    _add_state(app, predictor, secured)
    sitting = None
    if desk is not None:
        from plant_plugin.serving.desk.web import add_desk  # needs SQLAlchemy, which only the desk does

        sitting = add_desk(app, desk, predictor)
    return app


async def _wake(app: FastAPI, predictor: Predictor) -> None:
    """Ask the model until it answers; the first answer takes longest."""
    while app.state.status == STARTING:
        with contextlib.suppress(Busy, Failed, PlantError):
            await app.state.queue.ask(lambda texts, _: predictor.predict(texts), [""])
            if app.state.status == STARTING:
                app.state.status = READY
            return
        await asyncio.sleep(1)


def _add_state(app: FastAPI, predictor: Predictor, secured: list[Depends]) -> None:
    """Add what those ask who run the server."""

    @app.get("/health", responses={status: RESPONSES[status] for status in (400, 401)}, dependencies=secured)
    async def health() -> Health:
        return Health(
            status="ok",
            version=version("plant-plugin"),
            model=predictor.content["model_name"],
            labels=len(predictor.labels),
            thresholds=list(predictor.thresholds),
        )

    @app.get("/ready", responses={503: {"model": Status, "description": "Not yet, or not any more"}})
    async def ready(response: Response) -> Status:
        if app.state.status != READY:
            response.status_code = 503
        return Status(status=app.state.status)

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _add_questions(app: FastAPI, predictor: Predictor, secured: list[Depends]) -> None:
    """Add what is asked of the model. Errors name the place in the request, not its content."""
    queue: ModelQueue = app.state.queue
    metrics: Metrics = app.state.metrics

    def labels_of(texts: list[str], question: tuple[float | str | None, int | None]) -> list[Prediction]:
        threshold, top = question
        return predictor.predict(texts, threshold=threshold, top=top)

    @app.post("/predict", responses=RESPONSES, dependencies=secured)
    async def predict(question: PredictQuestion) -> Predicted:
        if isinstance(question.threshold, str) and question.threshold not in predictor.thresholds:
            raise HTTPException(422, f"body.threshold: the model has {', '.join(predictor.thresholds)}")
        metrics.texts.labels("/predict").inc(len(question.texts))
        predictions = await queue.ask(labels_of, question.texts, (question.threshold, question.top))
        return Predicted(predictions=list(predictions))

    def explanations_of(texts: list[str], question: tuple[tuple[str, ...] | None, int | None]) -> list[Explanation]:
        labels, top = question
        return [predictor.explain(text, labels, top=top) for text in texts]

    @app.post("/explain", responses=RESPONSES, dependencies=secured)
    async def explain(question: ExplainQuestion) -> Explained:
        labels = None if question.labels is None else tuple(question.labels)
        unknown = [place for place, label in enumerate(labels or ()) if label not in predictor.column_of]
        if unknown:
            raise HTTPException(422, "; ".join(f"body.labels.{place}: no label of the model" for place in unknown))
        metrics.texts.labels("/explain").inc()
        [explanation] = await queue.ask(explanations_of, [question.text], (labels, question.top))
        return as_dictionary(explanation)

    @app.get("/", include_in_schema=False)
    async def form() -> HTMLResponse:
        return HTMLResponse(files(__package__).joinpath("form.html").read_text(encoding="utf-8"), headers=FORM_HEADERS)

    @app.post("/", include_in_schema=False)
    async def explained(request: Request) -> HTMLResponse:
        fields = parse_qs((await request.body()).decode("ascii", "replace"))
        text = fields.get("text", [""])[0].replace("\r\n", "\n")
        metrics.texts.labels("/").inc()
        [explanation] = await queue.ask(explanations_of, [text], (None, None))
        return HTMLResponse(page([explanation]))


def _problem(status: int, detail: str, **headers: str) -> JSONResponse:
    return JSONResponse({"detail": detail}, status, headers=headers)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        # Of pydantic's errors only the place and the rule: they also hold what was sent.
        details = []
        for problem in error.errors():
            place = ".".join(str(part) if isinstance(part, int) or part in FIELDS else "…" for part in problem["loc"])
            details.append(f"{place}: {problem['type']}")
        return _problem(422, "; ".join(dict.fromkeys(details)))

    @app.exception_handler(PlantError)
    async def wrong(request: Request, error: PlantError) -> JSONResponse:
        # Not the client's mistake: questions are checked before. The message may name files of this machine.
        logger.error("a request failed: %s", error.message)
        return _problem(500, "the model could not do it")

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        return _problem(503, f"{error}; try again later", **{"retry-after": "1"})

    @app.exception_handler(Failed)
    async def failed(request: Request, error: Failed) -> JSONResponse:
        return _problem(500, str(error))
