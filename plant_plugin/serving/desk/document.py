"""A document as the desk's page shows it, with names of its codes and hints by the rules for them."""

from __future__ import annotations

from dataclasses import asdict

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.desk.hints import hints_of
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.store import Opened


def shown(opened: Opened, predictor: Predictor, codes: Codes) -> dict[str, object]:
    """Return a document as JSON has it."""
    decided = opened.decisions.values()
    return {
        **asdict(opened),
        "suggested": [{**each, "name": codes.name(each["label"])} for each in opened.suggested or ()],
        "decisions": [
            {**asdict(each), "name": codes.name(each.label), "known": codes.knows(each.label)} for each in decided
        ],
        "hints": hints_of(opened, predictor),
    }
