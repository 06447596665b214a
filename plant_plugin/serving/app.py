"""The web application: endpoints, errors, pages."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from plant_plugin.errors import PlantError
from plant_plugin.model.page import page
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.access import BearerToken, BodyLimit, Limits
from plant_plugin.serving.access_log import AccessLog
from plant_plugin.serving.endpoints import Asker, ModelName, NamesModel, add_endpoints, new_application
from plant_plugin.serving.metrics import Answers, Metrics
from plant_plugin.serving.model_queue import Busy, Failed, ModelQueue
from plant_plugin.serving.questions import DOCUMENTS, READY, STARTING

if TYPE_CHECKING:
    from plant_plugin.serving.desk.store import Desk

logger = logging.getLogger(__name__)

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

    app = new_application(lifespan=lifespan)
    metrics = Metrics(lambda: queue.asked)
    app.state.queue, app.state.metrics, app.state.status = queue, metrics, STARTING
    metrics.ready.set_function(lambda: app.state.status == READY)
    _add_errors(app)
    model = ModelName.of(predictor)
    app.add_middleware(NamesModel, model=model)
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
    app.add_middleware(AccessLog)
    asker = Asker(app, predictor)
    add_endpoints(app, asker, model, token=token is not None)
    _add_pages(app, asker)
    sitting = None
    if desk is not None:
        from plant_plugin.serving.desk.routes import add_desk  # needs SQLAlchemy, which only the desk does

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


def _add_pages(app: FastAPI, asker: Asker) -> None:
    """Add pages, and the numbers for Prometheus."""

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(generate_latest(app.state.metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/", include_in_schema=False)
    async def form() -> HTMLResponse:
        return HTMLResponse(files(__package__).joinpath("form.html").read_text(encoding="utf-8"), headers=FORM_HEADERS)

    @app.post("/", include_in_schema=False)
    async def explained(request: Request) -> HTMLResponse:
        fields = parse_qs((await request.body()).decode("ascii", "replace"))
        text = fields.get("text", [""])[0].replace("\r\n", "\n")
        return HTMLResponse(page([await asker.explained(text, request)]))


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
