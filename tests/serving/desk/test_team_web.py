"""Accounts and documents from the lead's page; that nobody else may is tried in test_web.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_lead import Lead
from fastapi.testclient import TestClient

from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk.store import Desk


@pytest.fixture
def lead(desk: Desk, predictor: Predictor) -> Iterator[Lead]:
    with TestClient(create_app(predictor, desk=desk)) as client:
        yield Lead(client, desk.people.add("lea", "lead"))


def upload(lead: Lead, name: str, content: bytes, expected: int = 200, **asked: Any) -> Any:
    answer = lead.client.post(
        "/desk/upload", params={"name": name, **asked}, content=content, headers={"x-csrf": lead.csrf}
    )
    assert answer.status_code == expected, answer.text
    return answer.json()


def test_an_account_signs_in_and_its_name_is_checked(lead: Lead, desk: Desk) -> None:
    def make(name: str, expected: int) -> Any:
        body = {"name": name, "role": "coder"}
        answer = lead.client.post("/desk/accounts", json=body, headers={"x-csrf": lead.csrf})
        assert answer.status_code == expected, answer.text
        return answer.json()

    signed = desk.people.sign_in(make("ana", 200)["token"])
    assert signed is not None
    assert (signed.coder.name, signed.coder.role) == ("ana", "coder")
    assert "there is a coder of this name" in make("ana", 409)["detail"]
    assert "How to fix it: up to 60 letters" in make("two words", 409)["detail"]


def test_documents_of_each_kind_are_added_once(lead: Lead, desk: Desk) -> None:
    table = "id,text\nHC-1,sign3x hére\nHC-2,sign4x here\n".encode()
    assert upload(lead, "cases.csv", table, coders=2) == {"added": 2, "there": 0, "note": ""}
    assert upload(lead, "cases.csv", table) == {"added": 0, "there": 2, "note": ""}
    assert upload(lead, "more.jsonl", b'{"id": "HC-3", "text": "sign5x here"}\n') == {
        "added": 1,
        "there": 0,
        "note": "",
    }
    found = lead.documents()["documents"]
    assert [(one["name"], one["wanted"]) for one in found] == [("HC-1", 2), ("HC-2", 2), ("HC-3", 1)]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("empty.txt", b"", "empty.txt: the file holds no document"),
        ("cases.csv", b"id,text\n", "cases.csv: the file holds no document"),
        ("cases.csv", b"id,note\n1,secretpatient\n", "cases.csv"),
        ("cases.jsonl", b'{"id": "1", "text": "whole"}\n{"id": "secretpatient", "te', "cases.jsonl, line 2"),
        ("cases.pdf", b"%PDF-1.4 secretpatient", "cases.pdf"),
    ],
)
def test_a_bad_file_says_what_where_and_how_to_mend_it_and_adds_nothing(
    lead: Lead, desk: Desk, name: str, content: bytes, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = upload(lead, name, content, 409)["detail"]
    assert name not in caplog.text  # a hospital's file may be called after a patient
    assert told.startswith(what)
    assert "How to fix it: " in told
    assert "secretpatient" not in told
    assert "/tmp" not in told
    assert desk.size() == 0


@pytest.mark.parametrize("name", ["../cases.csv", "a/b.csv", ".hidden", "", "x" * 61, "a\x00b"])
def test_no_name_leaves_the_folder(lead: Lead, name: str) -> None:
    upload(lead, name, b"text", 422)
