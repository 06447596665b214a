"""What each coder said of a document, side by side, for the lead who settles it."""

from __future__ import annotations

from typing_extensions import TypedDict

from plant_plugin.data.text import Spans
from plant_plugin.serving.desk.listed import Codes
from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.store import Desk, given
from plant_plugin.serving.desk.votes import margins


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


class NamedCompared(Compared):
    """The same, with the label's name and whether the desk knows it."""

    name: str | None
    known: bool


def named_readings(desk: Desk, document: int, reader: Coder, codes: Codes) -> list[NamedCompared]:
    """Return what :func:`readings` does, with names."""
    return [
        {**one, "name": codes.name(one["label"]), "known": codes.knows(one["label"])}
        for one in readings(desk, document, reader)
    ]


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
                Reading(coder=who.name, kind=said[label].kind, spans=said[label].spans)
                if label in said
                else Reading(coder=who.name, kind="", spans=[])
                for who, said in by
            ],
        )
        for label in dict.fromkeys(label for _, said in by for label in said)
    ]
    return sorted(compared, key=lambda one: not one["split"])
