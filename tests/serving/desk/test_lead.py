"""What a lead does with documents."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, code, coder, said

from plant_plugin.serving.desk import lead, store
from plant_plugin.serving.desk.lead import documents_of, give, reopen, take
from plant_plugin.serving.desk.opening import check_file
from plant_plugin.serving.desk.store import Decision, Desk
from plant_plugin.serving.desk.turns import Refused


def states(desk: Desk) -> dict[str, str]:
    return {one["name"]: one["state"] for one in documents_of(desk)["documents"]}


def readers(desk: Desk, document: int) -> dict[str, str]:
    [found] = [one for one in documents_of(desk)["documents"] if one["id"] == document]
    return {reader["coder"]: reader["state"] for reader in found["readers"]}


@pytest.fixture
def team(desk: Desk) -> Desk:
    for name in ("ana", "berta", "carl"):
        coder(desk, name)
    coder(desk, "lea", "lead")
    return desk


def test_states_and_the_filter(team: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, berta = team.people.named("ana"), team.people.named("berta")
    ids = team.add_documents(
        [(name, name) for name in ("untouched", "one of two", "a split", "finished 100%")], wanted=2
    )
    for who in (ana, berta):
        code(team, who, ids[3], Decision("R05", "accept", []))
        code(team, who, ids[2], Decision(f"of {who.name}", "add", []))
    code(team, ana, ids[1])
    assert states(team) == {"untouched": "open", "one of two": "begun", "a split": "split", "finished 100%": "done"}
    found = documents_of(team)
    assert found["counts"] == {"open": 1, "begun": 1, "split": 1, "done": 1}
    assert found["coders"] == ["ana", "berta", "carl", "lea"]
    assert [one["name"] for one in documents_of(team, "split")["documents"]] == ["a split"]
    assert [one["name"] for one in documents_of(team, "", "100%")["documents"]] == ["finished 100%"]
    assert documents_of(team, "", "%")["documents"] == documents_of(team, "done")["documents"]
    monkeypatch.setattr(lead, "MOST", 3)
    assert (len(documents_of(team)["documents"]), documents_of(team)["more"]) == (3, True)
    assert [one["id"] for one in documents_of(team, after=ids[2])["documents"]] == [ids[3]]
    team.people.renew("carl", close=True)
    assert documents_of(team)["coders"] == ["ana", "berta", "lea"]


def test_a_document_that_is_given_to_a_coder_is_that_coders_next_and_nobody_elses(
    team: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, berta, lea = map(team.people.named, ("ana", "berta", "lea"))
    first, second = team.add_documents([("a", "x"), ("b", "y")])
    assert team.next(ana, "sent", MODEL) == first
    for _ in range(2):  # it is sent again
        give(team, lea, "key-give-1", first, "berta")
    assert readers(team, first) == {"ana": "began it", "berta": "was given it"}
    with pytest.raises(Refused, match="has ended: berta has it now"):
        team.decide(ana, "key-00001", first, Decision("R05", "accept", []))
    now = time.time() + 30 * 24 * 3600  # a month on holiday
    monkeypatch.setattr(time, "time", lambda: now)
    assert team.next(ana, "sent", MODEL) == second
    assert team.next(berta, "sent", MODEL) == first
    assert readers(team, first)["berta"] == "has it"
    with pytest.raises(Refused, match="no coder"):
        give(team, lea, "key-give-2", first, "nobody")
    with pytest.raises(Refused, match="no such document"):
        give(team, lea, "key-give-3", 99, "berta")


def test_a_finished_document_that_is_given_wants_one_reader_more(team: Desk) -> None:
    ana, berta, lea = map(team.people.named, ("ana", "berta", "lea"))
    [document] = team.add_documents([("a", "x")])
    code(team, ana, document, Decision("R05", "accept", []))
    assert team.next(berta, "sent", MODEL) is None
    with pytest.raises(Refused, match="ana has finished it"):
        give(team, lea, "key-give-1", document, "ana")
    give(team, lea, "key-give-2", document, "berta")
    assert states(team) == {"a": "begun"}
    assert team.next(berta, "sent", MODEL) == document


def test_what_a_coder_has_finished_is_opened_again(team: Desk) -> None:
    ana, lea = team.people.named("ana"), team.people.named("lea")
    first, second = team.add_documents([("a", "x"), ("b", "y")])
    code(team, ana, first, Decision("R05", "accept", []))
    assert team.next(ana, "sent", MODEL) == second
    for _ in range(2):
        reopen(team, lea, "key-open-1", first, "ana")
    assert readers(team, first) == {"ana": "was given it"}
    assert list(team.finished()) == []
    assert said(team, ana, first) == {"R05": ("accept", [])}
    team.decide(ana, "key-again-1", first, Decision("R05", "reject", []))
    team.finish(ana, "key-again-2", first)
    with pytest.raises(Refused, match="lea has not finished it"):
        reopen(team, lea, "key-open-2", first, "lea")
    check_file(team.path)  # changes and work say the same
    with closing(Desk(team.path)) as again:
        assert len(list(again.finished())) == 1


def test_a_lead_reads_any_document_besides_its_coders_and_again(team: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, lea = team.people.named("ana"), team.people.named("lea")
    [document] = team.add_documents([("a", "x")])
    code(team, ana, document, Decision("R05", "accept", []))
    take(team, lea, "key-take-1", document, MODEL)
    now = time.time() + store.LEASE + 1
    monkeypatch.setattr(time, "time", lambda: now)
    assert team.next(lea, "sent", MODEL) == document  # also after a while
    team.decide(lea, "key-00001", document, Decision("R05", "reject", []))
    team.finish(lea, "key-00002", document)
    take(team, lea, "key-take-2", document, MODEL)
    team.decide(lea, "key-00003", document, Decision("R05", "accept", []))
    team.finish(lea, "key-00004", document)
    assert said(team, lea, document) == {"R05": ("accept", [])}
    with pytest.raises(Refused, match="no such document"):
        take(team, lea, "key-take-3", 99, MODEL)
    check_file(team.path)
