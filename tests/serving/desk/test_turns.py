"""Loans that end, and documents on which coders are split."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder, lines

from plant_plugin.serving.desk import store
from plant_plugin.serving.desk.export import export
from plant_plugin.serving.desk.store import Decision, Desk
from plant_plugin.serving.desk.turns import Refused


def pass_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time() + store.LEASE + 1
    monkeypatch.setattr(time, "time", lambda: now)


@pytest.mark.parametrize("finished", [False, True])
def test_a_loan_that_ended_is_somebody_elses(desk: Desk, monkeypatch: pytest.MonkeyPatch, finished: bool) -> None:
    one, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "text")])
    desk.next(one, "sent", MODEL)
    desk.decide(one, "key-00001", document, Decision("R50", "accept", []))
    pass_time(monkeypatch)
    assert desk.next(other, "sent", MODEL) == document
    if finished:
        desk.finish(other, "key-00001", document)
    before = lines(desk)
    for act in (
        lambda: desk.opened(one, document, MODEL),
        lambda: desk.decide(one, "key-00002", document, Decision("R05", "accept", [])),
        lambda: desk.finish(one, "key-00003", document),
        lambda: desk.undo(one, "key-00004", document),
    ):
        with pytest.raises(Refused, match="has ended: other has it now"):
            act()
    desk.decide(one, "key-00001", document, Decision("R50", "accept", []))  # sent again: it was written before
    assert lines(desk) == before
    assert [[who for who, *_ in by] for _, _, by in desk.finished()] == ([[other.id]] if finished else [])


def test_a_loan_that_ended_and_that_nobody_took_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = coder(desk, "one"), coder(desk, "other")
    [document] = desk.add_documents([("a", "text")])
    desk.next(one, "sent", MODEL)
    pass_time(monkeypatch)
    desk.decide(one, "key-00001", document, Decision("R50", "accept", []))
    assert desk.next(other, "sent", MODEL) is None  # the decision lent it again


def read(desk: Desk, name: str, *labels: str, role: str = "coder") -> int | None:
    """Let a new coder take the next document and give it these labels."""
    who = coder(desk, name, role)
    document = desk.next(who, "sent", MODEL)
    if document is not None:
        for label in labels:
            desk.decide(who, f"key-{document}-{label}", document, Decision(label, "add", []))
        desk.finish(who, f"key-{document}-done", document)
    return document


def exported(desk: Desk, tmp_path: Path) -> dict[str, int | str]:
    return export(desk, tmp_path / "out")


def test_where_coders_are_split_a_further_one_is_asked(desk: Desk, tmp_path: Path) -> None:
    [document] = desk.add_documents([("a", "text")], wanted=2)
    assert read(desk, "one", "R50", "R05") == read(desk, "other", "R50") == document
    assert exported(desk, tmp_path)["codes_left_out_because_coders_are_split"] == 1
    third = coder(desk, "third")
    assert desk.left(third) == 1
    assert read(desk, "fourth", "R05") == document
    assert desk.left(third) == 0
    assert read(desk, "fifth") is None
    assert "codes_left_out_because_coders_are_split" not in exported(desk, tmp_path)
    assert "R50 R05\t" in (tmp_path / "out" / "train.txt").read_text()


def test_a_lead_gets_split_documents_first_and_settles_them(desk: Desk) -> None:
    fresh, split = desk.add_documents([("a", "text")]) + desk.add_documents([("b", "text")], wanted=2)
    busy = coder(desk, "busy")
    assert desk.next(busy, "sent", MODEL) == fresh  # is lent while the two others read
    assert read(desk, "one", "R50") == read(desk, "other", "R05") == split
    desk.add_documents([("c", "text")])
    assert read(desk, "coder", "R50") == 3  # what nobody has read comes first for coders
    assert read(desk, "lead", "R50", role="lead") == split
    assert read(desk, "another") is None


def test_agreed_and_reopened_documents_want_nobody_more(desk: Desk) -> None:
    [document] = desk.add_documents([("a", "text")], wanted=2)
    assert read(desk, "one", "R50") == read(desk, "other", "R05") == document
    other = desk.people.named("other")
    desk.undo(other, "key-undo-1", document)  # the finishing
    assert read(desk, "third") is None
    desk.undo(other, "key-undo-2", document)
    desk.decide(other, "key-again-1", document, Decision("R50", "add", []))
    desk.finish(other, "key-again-2", document)
    assert read(desk, "fourth") is None


def test_undo_from_a_second_tab(desk: Desk) -> None:
    who = coder(desk, "one")
    first, _ = desk.add_documents([("a", "x"), ("b", "y")])
    desk.next(who, "sent", MODEL)
    assert desk.opened(who, first, MODEL).last == ""
    desk.decide(who, "key-00001", first, Decision("R50", "accept", []))
    for seen in ("", "key-00000"):  # what this tab shows as done last is not
        with pytest.raises(Refused, match="another tab"):
            desk.undo(who, "key-00002", first, seen)
    desk.finish(who, "key-00003", first)
    with pytest.raises(Refused, match="another tab"):
        desk.undo(who, "key-00004", first, "key-00001")
    assert desk.undo(who, "key-00005", first) == first  # the finishing goes first, so that nothing is half finished
    assert desk.opened(who, first, MODEL).last == "key-00001"
    assert [line[3] for line in lines(desk)] == ["open", "accept", "done", "undo"]
    assert desk.undo(who, "key-00006", first, "key-00001") == first
    assert desk.opened(who, first, MODEL).decisions == {}
