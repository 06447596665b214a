"""A document as the desk's page shows it, with names of its codes and hints by the rules for them."""

from __future__ import annotations

from dataclasses import asdict

from plant_plugin.model.coding_rules import rules_for
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.scored_label import Hint
from plant_plugin.model.sides import sides_said
from plant_plugin.serving.desk.store import Opened


def shown(opened: Opened, predictor: Predictor) -> dict[str, object]:
    """Return a document as JSON has it."""
    name = predictor.names
    return {
        **asdict(opened),
        "suggested": [{**each, "name": name(each["label"])} for each in opened.suggested or ()],
        "decisions": [{**asdict(each), "name": name(each.label)} for each in opened.decisions.values()],
        "hints": hints_of(opened, predictor),
    }


def hints_of(opened: Opened, predictor: Predictor) -> dict[str, list[Hint]]:
    """Return the hints for codes that are accepted, or suggested and not decided; empty where no rules are known.

    A side is looked for in the words that a coder marked, else in those that the model shows.
    """
    if (rules := rules_for(tuple(predictor.labels))) is None:
        return {}
    suggested = {each["label"]: each for each in opened.suggested or ()}
    said = {}
    for label in {**suggested, **opened.decisions}:
        decision, model = opened.decisions.get(label), suggested.get(label)
        if (model is not None and model["predicted"]) if decision is None else decision.kind != "reject":
            spans = (decision and decision.spans) or (model and model["spans"]) or []
            said[label] = sides_said(opened.text, [(start, end) for start, end in spans])
    return {label: hints for label, hints in rules.hints(list(said), said).items() if hints}
