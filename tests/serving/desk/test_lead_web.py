"""What leads ask over HTTP; that nobody else may is tried in test_web.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import code, coder
from desk_lead import Lead
from fastapi.testclient import TestClient

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk.store import Decision, Desk


@pytest.fixture
def lead(desk: Desk, predictor: Predictor) -> Iterator[Lead]:
    desk.add_documents([("case 1", "sign3x here"), ("case 2", "sign4x here")], wanted=2)
    with TestClient(create_app(predictor, desk=desk)) as client:
        yield Lead(client, desk.people.add("lea", "lead"))


def test_a_split_is_settled_by_the_lead_who_sees_both_sides(lead: Lead, desk: Desk) -> None:
    ana, berta = coder(desk, "ana"), coder(desk, "berta")
    code(desk, ana, 1, Decision("L3", "accept", [(0, 6)]))
    code(desk, berta, 1, Decision("L3", "reject", []))
    [split] = lead.documents(state="split")["documents"]
    assert (split["name"], [reader["coder"] for reader in split["readers"]]) == ("case 1", ["ana", "berta"])
    shown = lead.client.post("/desk/next", json={"order": "sent"}, headers={"x-csrf": lead.csrf}).json()["document"]
    assert shown["id"] == 1
    [reading] = shown["readings"]
    assert (reading["label"], reading["split"], reading["name"]) == ("L3", True, "sígn number 3")
    assert [(one["coder"], one["kind"]) for one in reading["by"]] == [("ana", "accept"), ("berta", "reject")]
    lead.post("decide", document=1, label="L3", kind="accept")
    lead.post("finish", document=1)
    assert lead.documents(state="split")["documents"] == []
    assert lead.post("take", document=1)["document"]["decisions"][0]["kind"] == "accept"


def test_documents_are_given_and_opened_again(lead: Lead, desk: Desk) -> None:
    ana = coder(desk, "ana")
    code(desk, ana, 1)
    lead.post("reopen", document=1, coder="ana")
    lead.post("give", document=2, coder="ana")
    assert [one["readers"] for one in lead.documents()["documents"]] == [
        [{"coder": "ana", "state": "was given it"}]
    ] * 2
    assert lead.post("give", 409, document=2, coder="nobody")["detail"] == "there is no coder of this name"
    assert lead.post("reopen", 409, document=1, coder="ana")["detail"] == "ana has not finished it"
    assert lead.client.get("/desk/documents", params={"state": "lost"}).status_code == 422


def test_the_list_holds_no_text(lead: Lead) -> None:
    assert "sign3x" not in str(lead.documents())


def test_coders_do_not_see_what_others_said(lead: Lead, desk: Desk, predictor: Predictor) -> None:
    code(desk, coder(desk, "ana"), 1, Decision("L3", "accept", []))
    other = TestClient(lead.client.app)
    other.portal = lead.client.portal
    csrf = other.post("/desk/sign-in", json={"token": desk.people.add("berta")}).json()["csrf"]
    shown = other.post("/desk/next", json={"order": "sent"}, headers={"x-csrf": csrf}).json()["document"]
    assert shown["id"] == 1
    assert "readings" not in shown
