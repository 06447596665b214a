"""The queue of a desk, loans, and decisions that stay."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder, lines, said
from sqlalchemy.exc import IntegrityError

from plant_plugin.serving.desk import store
from plant_plugin.serving.desk.people import Coder
from plant_plugin.serving.desk.store import Decision, Desk, Suggestions
from plant_plugin.serving.desk.turns import Refused


def test_a_document_goes_to_one_coder_at_a_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = coder(desk, "one"), coder(desk, "other")
    first, second = desk.add_documents([("a", "first text"), ("b", "second text")])
    assert desk.next(one, "sent", MODEL) == first
    assert desk.next(one, "sent", MODEL) == first  # it is not finished
    assert desk.next(other, "sent", MODEL) == second
    third = coder(desk, "third")
    assert desk.next(third, "sent", MODEL) is None
    later = time.time() + store.LEASE + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert desk.next(third, "sent", MODEL) == first  # its loan is over


def test_as_many_coders_as_wanted_read_a_document(desk: Desk) -> None:
    who = [coder(desk, name) for name in ("one", "two", "three")]
    [document] = desk.add_documents([("a", "text")], wanted=2)
    assert [desk.next(one, "sent", MODEL) for one in who] == [document, document, None]
    desk.finish(who[0], "done-one-1", document)
    assert desk.next(who[0], "sent", MODEL) is None
    assert [desk.left(one) for one in who] == [0, 1, 1]


def test_orders(desk: Desk) -> None:
    late, early = (
        desk.add_documents([("a", "x")], "2026-02-02"),
        desk.add_documents([("b", "y"), ("c", "z")], "2026-01-01"),
    )
    for document, entropy in zip([*late, *early], (0.5, 0.1, 2.0), strict=True):
        desk.suggest(MODEL, [(document, Suggestions([], entropy))])
    for number, (order, expected) in enumerate({"sent": late[0], "date": early[0], "uncertainty": early[1]}.items()):
        who = coder(desk, f"coder{number}")
        assert desk.next(who, order, MODEL) == expected
        desk.writes.dispose()
        with sqlite3.connect(desk.path) as plain:
            plain.execute("DELETE FROM work")


def test_documents_that_are_sent_twice_are_there_once(desk: Desk) -> None:
    assert desk.add_documents([("a", "x"), ("b", "x")]) == [1, 2]
    assert desk.add_documents([("a", "x"), ("a", "y")]) == [0, 3]
    assert desk.size() == 3


def test_decisions_marks_and_undo(desk: Desk) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "fever and cough")])
    desk.next(who, "sent", MODEL)
    desk.decide(who, "key-00001", document, Decision("R50", "accept", []))
    desk.decide(who, "key-00002", document, Decision("R50", "accept", [(0, 5), (0, 5)]))
    desk.decide(who, "key-00003", document, Decision("R05", "add", [(10, 15)]))
    assert said(desk, who, document) == {"R50": ("accept", [(0, 5)]), "R05": ("add", [(10, 15)])}
    assert desk.undo(who, "key-00004", document) == document
    assert desk.undo(who, "key-00004", document) == document  # sent again: the same change
    assert said(desk, who, document) == {"R50": ("accept", [(0, 5)])}
    desk.undo(who, "key-00005", document)
    assert said(desk, who, document) == {"R50": ("accept", [])}
    assert [line[3] for line in lines(desk)] == ["open", "accept", "accept", "add", "undo", "undo"]  # all stay


def test_undo_at_the_start_of_a_document_goes_back_to_the_one_before(desk: Desk) -> None:
    who = coder(desk, "one")
    first, second = desk.add_documents([("a", "x"), ("b", "y")])
    desk.next(who, "sent", MODEL)
    desk.finish(who, "key-00001", first)
    with pytest.raises(Refused, match="finished"):
        desk.decide(who, "key-00002", first, Decision("R50", "accept", []))
    assert desk.next(who, "sent", MODEL) == second
    assert desk.undo(who, "key-00003", second) == first
    desk.decide(who, "key-00004", first, Decision("R50", "accept", []))
    assert desk.undo(who, "key-00005", second) is None
    assert list(desk.finished()) == []


def test_a_change_that_is_sent_again_counts_once(desk: Desk) -> None:
    who, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "x")], wanted=2)
    desk.next(who, "sent", MODEL), desk.next(other, "sent", MODEL)
    for _ in range(3):
        desk.decide(who, "key-00001", document, Decision("R50", "accept", []))
        desk.decide(other, "key-00001", document, Decision("R50", "reject", []))  # keys are each coder's own
    assert [line[3] for line in lines(desk)] == ["open", "open", "accept", "reject"]
    with pytest.raises(Refused, match="another change"):
        desk.decide(who, "key-00001", document, Decision("R51", "accept", []))
    for _ in range(2):
        desk.finish(who, "key-00002", document)
    assert [line[3] for line in lines(desk)].count("done") == 1


def test_many_threads_at_once_lose_nothing(desk: Desk) -> None:
    who = [coder(desk, f"coder{number}") for number in range(4)]
    [document] = desk.add_documents([("a", "x")], wanted=4)
    for one in who:
        desk.next(one, "sent", MODEL)

    def work(one: Coder) -> None:
        for number in range(20):
            for _ in range(2):
                desk.decide(one, f"key-{number:05}", document, Decision(f"L{number}", "accept", []))

    threads = [threading.Thread(target=work, args=(one,)) for one in who]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(line[3] == "accept" for line in lines(desk)) == 80


def test_what_is_refused(desk: Desk) -> None:
    who, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    before = lines(desk)
    for wrong in ([(0, 2)], [(-1, 1)], [(1, 1)]):
        with pytest.raises(Refused, match="not inside"):
            desk.decide(who, "key-00001", document, Decision("R50", "accept", wrong))
    for acts in (
        lambda: desk.opened(other, document, MODEL),
        lambda: desk.decide(other, "key-00001", document, Decision("R50", "accept", [])),
        lambda: desk.finish(other, "key-00001", document),
        lambda: desk.undo(other, "key-00001", document),
    ):
        with pytest.raises(Refused, match="not lent to you"):
            acts()
    assert lines(desk) == before


def test_what_was_taken_back_cannot_be_taken_back_twice(desk: Desk) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    with desk.writes.begin() as connection:
        desk.append(connection, who, "key-00001", document, finished=False, kind="undo", undoes=1)
        with pytest.raises(IntegrityError):
            desk.append(connection, who, "key-00002", document, finished=False, kind="undo", undoes=1)


def test_who_sends_slowly_holds_nobody_up(desk: Desk) -> None:
    who, other = coder(desk, "one"), Desk(desk.path)

    def slow() -> Iterator[tuple[str, str]]:
        yield "a", "x"
        other.people.sign_in(other.people.renew(who.name))  # another process writes meanwhile
        yield "b", "y"

    assert desk.add_documents(slow()) == [1, 2]
    other.close()


def test_what_was_coded_elsewhere_comes_whole_and_takes_no_time(desk: Desk) -> None:
    who = coder(desk, "one")

    def torn() -> Iterator[tuple[str, str, list[Decision]]]:
        yield "a", "x", [Decision("R50", "add", [(0, 1)])]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.import_coded(who, torn())
    assert desk.size() == 0
    sent = [("a", "x", [Decision("R50", "add", [(0, 1)])]), ("b", "y", [])]
    assert desk.import_coded(who, sent) == [1, 2]
    assert desk.import_coded(who, sent) == [0, 0]
    assert len(list(desk.finished())) == 2
    assert [kind for *_, kind in desk.times()] == ["done", "done"]
