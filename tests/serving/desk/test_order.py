"""Orders that coders put codes in."""

from __future__ import annotations

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder
from pydantic import ValidationError
from sqlalchemy import select

from plant_plugin.serving.desk.order import (
    OrderQuestion,
    are_split,
    more_than_half,
    named_orders,
    orders,
    orders_of,
    principals,
    put_in_order,
)
from plant_plugin.serving.desk.store import Decision, Desk
from plant_plugin.serving.desk.turns import Refused


def ask(key: str, *labels: str) -> OrderQuestion:
    return OrderQuestion(key=f"key-{key}", document=1, labels=list(labels))


def test_the_last_order_counts_and_what_is_sent_again_counts_once(desk: Desk) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    desk.add_documents([("a", "text")], wanted=2)
    with pytest.raises(Refused, match="not lent to you"):
        put_in_order(desk.writes, ana, ask("0000", "A"))
    desk.next(ana, "sent", MODEL)
    for question in (ask("0001", "A", "B"), ask("0002", "B", "A"), ask("0002", "B", "A")):
        put_in_order(desk.writes, ana, question)
    with desk.reads.begin() as connection:
        assert orders_of(connection) == orders_of(connection, 1) == {1: {ana.id: ["B", "A"]}}
        assert orders_of(connection, 2) == orders_of(connection, finished=True) == {}
        assert named_orders(connection, 1, [ana, berta]) == {"ana": ["B", "A"]}
        assert len(connection.execute(select(orders)).all()) == 2
    put_in_order(desk.writes, ana, ask("0003"))
    with desk.reads.begin() as connection:
        assert named_orders(connection, 1, [ana]) == {}
    desk.finish(ana, "key-done", 1)
    with pytest.raises(Refused, match="undo that first"):
        put_in_order(desk.writes, ana, ask("0004", "A"))
    with pytest.raises(ValidationError):
        ask("0005", "two words")


def test_the_principal_code_is_the_first_that_its_coder_gives() -> None:
    assert principals({1: ["A", "B"], 2: ["B"], 3: [], 9: ["A"]}, {1: ["B", "C"], 2: ["A"], 3: ["A"]}) == {1: "B"}


def test_more_than_half_name_it() -> None:
    assert more_than_half(["A", "B", "A"]) == "A"
    assert more_than_half(["A", "B"]) is None
    assert more_than_half([]) is None


def test_a_split_on_the_principal_code_wants_one_more_reader(desk: Desk) -> None:
    ana, berta, lea = coder(desk, "ana"), coder(desk, "berta"), coder(desk, "lea", "lead")
    desk.add_documents([("a", "text")], wanted=2)
    for who, first in ((ana, "A"), (berta, "B")):
        desk.next(who, "sent", MODEL)
        for label in "AB":
            desk.decide(who, f"key-{label}-0001", 1, Decision(label, "add", []))
        put_in_order(desk.writes, who, ask("0001", first))
        desk.finish(who, "key-done", 1)
    assert desk.next(lea, "sent", MODEL) == 1
    with desk.reads.begin() as connection:
        gave = {ana.id: ["A", "B"], berta.id: ["A", "B"]}
        assert are_split(connection, 1, gave)
        assert not are_split(connection, 1, {**gave, lea.id: ["A"]} | {berta.id: ["A"]})
        assert are_split(connection, 1, {**gave, berta.id: []})
