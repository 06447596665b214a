"""Hints by the rules for codes, for what is decided on a document so far."""

from __future__ import annotations

from plant_plugin.model.coding_rules import rules_for
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.scored_label import Hint
from plant_plugin.model.sides import sides_said
from plant_plugin.serving.desk.store import Opened


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
