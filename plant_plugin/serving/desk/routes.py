"""All that a server answers at ``/desk``: the page's own questions, and those of leads."""

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.team_web import ROUTERS
from plant_plugin.serving.desk.turns import Refused
from plant_plugin.serving.desk.web import Sitting, router


def add_desk(app: FastAPI, desk: Desk, predictor: Predictor) -> Sitting:
    """Add the desk's page and questions to an application, which has to run :meth:`Sitting.ahead` of the answer."""
    app.state.sitting = sitting = Sitting(desk, predictor, app.state.queue)
    for each in (router, *ROUTERS):
        app.include_router(each)
    app.add_exception_handler(Refused, lambda request, error: JSONResponse({"detail": str(error)}, 409))
    return sitting
