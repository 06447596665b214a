"""The labels that count for a document, in the order that coders put them in: the first is the principal code.

The order of leads counts alone where there is one, else that of all coders who have finished the document.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from typing_extensions import TypedDict

from plant_plugin.data.text import Spans
from plant_plugin.serving.desk.order import Orders, more_than_half, orders_of, principals
from plant_plugin.serving.desk.outcome import Settled, settled
from plant_plugin.serving.desk.people import LEAD, Coder
from plant_plugin.serving.desk.store import Desk, given

SPLIT = "documents_without_order_because_coders_are_split_on_the_principal_code"
Rank = int | None  # 1: the principal code; None: there is no order


@dataclass(frozen=True)
class Accepted:
    """A code that counts for a document, as an export for the hospital has it."""

    code: str
    rank: Rank
    coder: str  # whoever gave it, with commas between
    time: str  # of the last one to do so: ISO 8601, UTC
    spans: Spans  # words that any of them marked, in characters
    words: list[str] = field(repr=False)
    known: bool  # False: the coder took it though the desk knows no such code


class SamePrincipal(TypedDict):
    """How two coders agree on the principal code."""

    first: str
    second: str
    documents: int  # for which both have named one
    agreed: int  # of these, with the same one


def ranked(desk: Desk, counts: Counter[str]) -> Iterator[tuple[int, str, list[tuple[Rank, Settled]]]]:
    """Yield what :func:`.outcome.settled` does, with ranks and in order; ``counts`` gets documents without order."""
    people = {coder.id: coder for coder in desk.people.all()}
    with desk.reads.begin() as connection:
        orders = orders_of(connection, finished=True)
    for number, text, labels in settled(desk, counts):
        named = {one.label: one for one in labels}
        order = ranks(people, orders.get(number, {}), named)
        counts.update([SPLIT] * (order is None))
        yield number, text, [(rank, named[label]) for label, rank in (order or dict.fromkeys(named)).items()]


def ranks(people: Mapping[int, Coder], said: Orders, labels: Collection[str]) -> dict[str, int] | None:
    """Return labels that count with their ranks from 1, in order; None where coders are split on the principal one.

    The order of leads counts alone where there is one, else that of all coders. The principal code is the one that more
    than half name. Others follow by their mean place; who leaves one out has it last. Where nobody put them in order
    none is returned.
    """
    of_leads = {who: each for who, each in said.items() if each and people[who].role == LEAD}
    each_kept = ([label for label in each if label in labels] for each in (of_leads or said).values())
    if not (kept := [each for each in each_kept if each]):
        return {}
    if (principal := more_than_half([each[0] for each in kept])) is None:
        return None

    def place(label: str) -> tuple[bool, int]:
        return label != principal, sum(each.index(label) if label in each else len(labels) for each in kept)

    return {label: rank for rank, label in enumerate(sorted(labels, key=place), 1)}


def same_principals(desk: Desk) -> list[SamePrincipal]:
    """Return how each two coders agree on the principal codes of documents that both have finished."""
    names = {coder.id: coder.name for coder in desk.people.all()}
    with desk.reads.begin() as connection:
        orders = orders_of(connection, finished=True)
    same: dict[tuple[int, int], list[bool]] = {}
    for number, _, by in desk.finished():
        said = principals(orders.get(number, {}), {who: given(decisions) for who, _, decisions in by})
        for first, second in itertools.combinations(sorted(said), 2):
            same.setdefault((first, second), []).append(said[first] == said[second])
    return [
        SamePrincipal(first=names[first], second=names[second], documents=len(each), agreed=sum(each))
        for (first, second), each in sorted(same.items())
    ]
