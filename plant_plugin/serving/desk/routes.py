"""All that a server answers at ``/desk``: the page's own questions, and those of leads."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.lead_web import lead_router
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.turns import Refused
from plant_plugin.serving.desk.web import Sitting, router


def add_desk(app: FastAPI, desk: Desk, predictor: Predictor) -> Sitting:
    """Add the desk's page and questions to an application, which has to run :meth:`Sitting.ahead` of the answer."""
    app.state.sitting = sitting = Sitting(desk, predictor, app.state.queue)
    app.include_router(router)
    app.include_router(lead_router)

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    return sitting
