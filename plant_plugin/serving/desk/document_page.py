"""A document as the desk's page shows it: names of its codes, hints by the rules for them, and what else was said."""

from __future__ import annotations

from dataclasses import asdict

from typing_extensions import TypedDict

from plant_plugin.data.text import Spans
from plant_plugin.model.coding_rules import rules_for
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.scored_label import Hint
from plant_plugin.model.sides import sides_said
from plant_plugin.serving.desk.comments import seen_by
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.order import named_orders
from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.splits import margins
from plant_plugin.serving.desk.store import Decision, Desk, Opened, given, gives


class Reading(TypedDict):
    """A coder's word on a label."""

    coder: str
    kind: str  # accept, reject or add; empty: the coder did not decide on it
    spans: Spans


class Compared(TypedDict):
    """A label, and what each who has finished the document said of it."""

    label: str
    split: bool  # as many coders give it as do not
    by: list[Reading]


def shown(desk: Desk, coder: Coder, opened: Opened, predictor: Predictor, codes: Codes) -> dict[str, object]:
    """Return a document as JSON has it; a lead sees what others said, too."""
    lead = coder.role == LEAD
    with desk.reads.begin() as connection:
        orders = named_orders(connection, opened.id, desk.people.all() if lead else [coder])
    content = {
        **asdict(opened),
        "suggested": [{**each, "name": codes.name(each["label"])} for each in opened.suggested or ()],
        "decisions": [{**asdict(each), **_known(codes, each.label)} for each in opened.decisions.values()],
        "hints": hints_of(opened, predictor),
        "remarks": seen_by(desk, opened.id, coder, all_of_them=lead),
        "orders": orders,
    }
    if lead:
        content["readings"] = [{**one, **_known(codes, one["label"])} for one in readings(desk, opened.id, coder)]
    return content


def _known(codes: Codes, label: str) -> dict[str, object]:
    return {"name": codes.name(label), "known": codes.knows(label)}


def readings(desk: Desk, document: int, reader: Coder) -> list[Compared]:
    """Return all labels on which anybody but the reader decided, those first on which coders are split."""
    people = {coder.id: coder for coder in desk.people.all()}
    by = [(people[who], said) for _, _, each in desk.finished(document) for who, _, said in each if who != reader.id]
    votes = margins([given(said) for who, said in by if who.role != LEAD])
    compared = [
        Compared(
            label=label,
            split=votes.get(label) == 0,
            by=[
                Reading(coder=who.name, kind=one.kind, spans=one.spans)
                for who, said in by
                for one in [said.get(label, Decision(label, "", []))]
            ],
        )
        for label in dict.fromkeys(label for _, said in by for label in said)
    ]
    return sorted(compared, key=lambda one: not one["split"])


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
        if (model and model["predicted"]) if decision is None else gives(decision):
            spans = (decision and decision.spans) or (model and model["spans"]) or []
            said[label] = sides_said(opened.text, spans)
    return {label: hints for label, hints in rules.hints(list(said), said).items() if hints}
