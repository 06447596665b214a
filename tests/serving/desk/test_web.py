"""The desk over HTTP: what a coder does, and what an intruder cannot."""

from __future__ import annotations

import asyncio
import csv
import io
import logging
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from fastapi.testclient import TestClient

from plant_plugin.model.coding_rules import CodingRules
from plant_plugin.model.predictor import Predictor
from plant_plugin.serving.app import create_app
from plant_plugin.serving.desk import document_page as hints_module
from plant_plugin.serving.desk import people, store, web
from plant_plugin.serving.desk.accepted import as_bytes
from plant_plugin.serving.desk.figures import figures
from plant_plugin.serving.desk.store import Desk, Suggestions
from plant_plugin.serving.desk.suggestions import AHEAD, LEAST, MOST, model_hash, suggest
from plant_plugin.serving.desk.team_web import ROUTERS
from plant_plugin.serving.desk.tries import MOST as MOST_TRIES
from plant_plugin.serving.desk.web import router
from plant_plugin.serving.model_queue import ModelQueue

HOST, SERVERS_TOKEN = "desk.example", "the-servers-own-made-up-token"
BODIES: dict[str, dict[str, Any]] = {
    "/desk/next": {"order": "sent"},
    "/desk/decide": {"key": "intruder-1", "document": 1, "label": "L3", "kind": "accept", "spans": [[0, 1]]},
    "/desk/finish": {"key": "intruder-2", "document": 1},
    "/desk/undo": {"key": "intruder-3", "document": 1},
    "/desk/sign-out": {},
    "/desk/give": {"key": "intruder-4", "document": 1, "coder": "ana"},
    "/desk/reopen": {"key": "intruder-5", "document": 1, "coder": "ana"},
    "/desk/take": {"key": "intruder-6", "document": 1},
    "/desk/comment": {"key": "intruder-7", "document": 1, "text": "a comment"},
    "/desk/unsure": {"key": "intruder-8", "document": 1, "label": "L3", "unsure": True},
    "/desk/accounts": {"name": "berta", "role": "lead"},
    "/desk/upload?name=cases.txt": {"a": "document"},
    "/desk/order": {"key": "intruder-9", "document": 1, "labels": ["L3"]},
}
READS = ("/desk/me", "/desk/codes?q=L3", "/desk/figures", "/desk/hints?document=1", "/desk/documents?name=case",
         "/desk/why?document=1&label=L3")  # fmt: skip
LEADS = (
    "/desk/figures",
    "/desk/documents?name=case",
    "/desk/give",
    "/desk/reopen",
    "/desk/take",
    "/desk/accounts",
    "/desk/upload?name=cases.txt",
)  # only for leads; fmt: skip


def browser(app: Any, **options: Any) -> TestClient:
    """A further client in the loop that the application runs in."""
    made = TestClient(app, **{"base_url": f"http://{HOST}", **options})
    made.portal = app.state.portal
    return made


class Sitter:
    """A coder with a browser."""

    def __init__(self, app: Any, token: str, address: str = "testclient") -> None:
        self.client = browser(app, client=(address, 50000))
        found = self.client.post("/desk/sign-in", json={"token": token})
        assert found.status_code == 200, found.text
        self.csrf, self.keys = found.json()["csrf"], iter(range(10**6))

    def post(self, path: str, expected: int = 200, **body: Any) -> Any:
        found = self.client.post(f"/desk/{path}", json=body, headers={"x-csrf": self.csrf})
        assert found.status_code == expected, found.text
        return found.json()

    def decide(self, document: int, label: str, kind: str = "accept", spans: list[list[int]] | None = None) -> None:
        body = {"document": document, "label": label, "kind": kind, "spans": spans or [], "confirmed": True}
        self.post("decide", key=f"key-{next(self.keys):06}", **body)

    def finish(self, document: int) -> None:
        self.post("finish", key=f"key-{next(self.keys):06}", document=document)


@pytest.fixture
def app(desk: Desk, predictor: Predictor, texts: list[str]) -> Iterator[Any]:
    desk.add_documents((f"case {number}", text) for number, text in enumerate(texts[:12]))
    made = create_app(predictor, hosts=[HOST], token=SERVERS_TOKEN, desk=desk)
    with TestClient(made, base_url=f"http://{HOST}") as entered:
        made.state.portal = entered.portal
        yield made


@pytest.fixture
def sitter(app: Any, desk: Desk) -> Sitter:
    return Sitter(app, desk.people.add("ana"))


def content(desk: Desk) -> list[Any]:
    """All that an intruder could change."""
    with sqlite3.connect(desk.path) as plain:
        tables = ("changes", "work", "documents", "coders", "remarks")
        return [
            plain.execute(f"SELECT {'id, name, text' if table == 'documents' else '*'} FROM {table}").fetchall()
            for table in tables
        ]


def test_suggestions_are_the_models(sitter: Sitter, predictor: Predictor, texts: list[str]) -> None:
    shown = sitter.post("next", order="sent")["document"]
    assert shown["text"] == texts[0]
    [prediction] = predictor.predict([texts[0]])
    predicted = [one["label"] for one in shown["suggested"] if one["predicted"]]
    assert predicted == [one.label for one in prediction.labels]
    assert LEAST <= len(shown["suggested"]) <= MOST
    odds = [one["probability"] for one in shown["suggested"]]
    assert odds == sorted(odds, reverse=True)
    best = shown["suggested"][0]
    assert best["name"] == f"sígn number {best['label'][1:]}"
    words = {texts[0][start:end] for start, end in best["spans"]}
    assert any(f"sign{best['label'][1:]}x" in word for word in words)
    explained = predictor.explain(texts[0], [best["label"]]).labels[0].passages
    assert best["spans"] == [[one.start, one.end] for one in explained]


def test_the_model_reads_ahead(app: Any, desk: Desk, predictor: Predictor) -> None:
    for _ in range(200):
        if not desk.unread(model_hash(predictor), 1):
            break
        time.sleep(0.05)
    with sqlite3.connect(desk.path) as plain:
        kept = [row[0] for row in plain.execute("SELECT uncertainty FROM documents ORDER BY id")]
        texts = [row[0] for row in plain.execute("SELECT text FROM documents ORDER BY id")]
    assert kept == pytest.approx([one.uncertainty for one in suggest(predictor, texts)], rel=1e-5)
    most = max(range(len(kept)), key=kept.__getitem__)
    assert Sitter(app, desk.people.add("ana")).post("next")["document"]["text"] == texts[most]


async def reading_ahead(desk: Desk, predictor: Predictor, seconds: float, done: Callable[[], bool]) -> None:
    """Let a desk read ahead until it is done, ten seconds at most; ``seconds`` as long as it waits for an answer."""
    queue = ModelQueue(8, seconds, 8)
    async with queue.running():
        task = asyncio.create_task(web.Sitting(desk, predictor, queue).ahead())
        for _ in range(500):
            if await asyncio.to_thread(done):
                break
            await asyncio.sleep(0.02)
        task.cancel()


def test_reading_ahead_outlives_errors_and_waits_for_a_slow_model(
    desk: Desk, predictor: Predictor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(web, "WAIT", 0.01)
    unread = Desk.unread
    desk.add_documents((str(number), "sign3x") for number in range(9))

    def at_first(self: Desk, model: str, most: int, after: int) -> list[tuple[int, str]]:
        calls.append(most)
        if len(calls) == 1:
            raise RuntimeError("secretpatient")
        return unread(self, model, most, after)

    def slow(predictor: Predictor, texts: list[str]) -> list[Suggestions]:
        time.sleep(0.1)
        return suggest(predictor, texts)

    monkeypatch.setattr(Desk, "unread", at_first)
    monkeypatch.setattr(web, "suggest", slow)

    asyncio.run(reading_ahead(desk, predictor, 0.02, lambda: not unread(desk, model_hash(predictor), 1)))
    assert not unread(desk, model_hash(predictor), 1)
    assert "reading ahead failed: RuntimeError" in caplog.text
    assert "secretpatient" not in caplog.text


def test_a_document_that_the_model_cannot_read_holds_no_other_up(
    desk: Desk, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "WAIT", 0.01)
    desk.add_documents((str(number), "sign3x" * (1 + (number == 2))) for number in range(AHEAD + 1))

    def fragile(predictor: Predictor, texts: list[str]) -> list[Suggestions]:
        if "sign3xsign3x" in texts:
            raise MemoryError
        return suggest(predictor, texts)

    monkeypatch.setattr(web, "suggest", fragile)

    asyncio.run(reading_ahead(desk, predictor, 1, lambda: len(desk.unread(model_hash(predictor), 99)) == 1))
    assert [text for _, text in desk.unread(model_hash(predictor), 99)] == ["sign3xsign3x"]


def test_a_sitting(sitter: Sitter, app: Any, desk: Desk) -> None:
    other = Sitter(app, desk.people.add("berta"))
    first = sitter.post("next", order="sent")["document"]
    assert other.post("next", order="sent")["document"]["id"] != first["id"]
    label = first["suggested"][0]["label"]
    sitter.decide(first["id"], label, "accept", [[0, 5]])
    sitter.decide(first["id"], "Z99.9", "add")
    again = sitter.post("next", order="date")["document"]
    assert again["id"] == first["id"]
    assert {one["label"]: (one["kind"], one["spans"]) for one in again["decisions"]} == {
        label: ("accept", [[0, 5]]),
        "Z99.9": ("add", []),
    }
    back = sitter.post("undo", key="undo-00001", document=first["id"])["document"]
    assert [one["label"] for one in back["decisions"]] == [label]
    sitter.finish(first["id"])
    following = sitter.post("next", order="sent")
    assert following["document"]["id"] != first["id"]
    assert following["left"] == 11
    returned = sitter.post("undo", key="undo-00002", document=following["document"]["id"])["document"]
    assert returned["id"] == first["id"]


def test_codes_are_found_by_number_and_name(sitter: Sitter) -> None:
    def found(asked: str) -> list[str]:
        return [one["label"] for one in sitter.client.get("/desk/codes", params={"q": asked}).json()]

    assert found("l1") == ["L1", "L10", "L11"]
    assert found("SIGN number 3") == ["L3"]  # an accent and capitals do not count
    assert found("number") == [f"L{number}" for number in range(12)] or len(found("number")) == 12
    assert found("  ") == found("no such thing") == []


def test_a_label_that_the_desk_does_not_know_is_taken_only_when_it_is_confirmed(
    sitter: Sitter, desk: Desk, predictor: Predictor
) -> None:
    document = sitter.post("next", order="sent")["document"]["id"]
    before = content(desk)
    for kind in ("accept", "add"):
        body = {"key": f"key-of-{kind}", "document": document, "label": "L333", "kind": kind}
        told = sitter.post("decide", 409, **body)["detail"]
        assert told == "L333 is no code that this desk knows. Take it all the same?"
    assert content(desk) == before
    sitter.post("decide", **body, confirmed=True)
    sitter.post("decide", key="key-of-no", document=document, label="L444", kind="reject")  # takes nothing
    known = {one["label"]: one["known"] for one in sitter.post("next", order="sent")["document"]["decisions"]}
    assert known == {"L333": False, "L444": False}
    sitter.post("decide", key="key-of-own", document=document, label=predictor.labels[0], kind="add", confirmed=True)
    sitter.finish(document)
    rows = list(csv.DictReader(io.StringIO(as_bytes(desk, "csv", Counter()).decode())))
    assert {row["code"]: row["known"] for row in rows} == {"L333": "no", predictor.labels[0]: "yes"}


def test_what_cannot_be_answered_says_no_text(sitter: Sitter) -> None:
    document = sitter.post("next", order="sent")["document"]["id"]
    good = {"key": "key-000001", "document": document, "label": "L3", "kind": "accept", "spans": []}
    for wrong in (
        {"label": "two words"}, {"label": ""}, {"label": "x" * 300}, {"kind": "open"}, {"key": "k"}, {"spans": [[1]]},
        {"spans": [[-1, 3]]}, {"document": "secretpatient"}, {"secretpatient": 1}, {"spans": [[0, 1]] * 201},
    ):  # fmt: skip
        answer = sitter.post("decide", 422, **{**good, **wrong})
        assert "secretpatient" not in str(answer)
        assert "two words" not in str(answer)
    assert "span" in sitter.post("decide", 409, **{**good, "spans": [[0, 10**6]]})["detail"]
    assert "not lent" in sitter.post("decide", 409, **{**good, "document": document + 1})["detail"]


def test_hints_follow_what_is_decided(sitter: Sitter, monkeypatch: pytest.MonkeyPatch) -> None:
    def hints() -> dict[str, list[str]]:
        found = sitter.client.get("/desk/hints", params={"document": document}).json()
        return {label: [hint["rule"] for hint in told] for label, told in found.items()}

    document = sitter.post("next", order="sent")["document"]["id"]
    assert hints() == {}  # the model's labels are no codes
    monkeypatch.setattr(hints_module, "rules_for", lambda labels: CodingRules())
    sitter.decide(document, "E11.9", "add")
    sitter.decide(document, "E10.9", "add")
    assert hints() == {"E11.9": ["excludes1", "use_additional_code"], "E10.9": ["excludes1"]}
    assert set(sitter.post("next", order="sent")["document"]["hints"]) == {"E11.9", "E10.9"}
    sitter.decide(document, "E11.9", "reject")
    assert hints() == {}
    assert sitter.client.get("/desk/hints", params={"document": document + 1}).status_code == 409


def test_every_route_is_attacked_below() -> None:
    public = {"/desk", "/desk/texts.js", "/desk/desk.js", "/desk/lead.js", "/desk/desk.css", "/desk/sign-in"}
    every = {route.path for each in (router, *ROUTERS) for route in each.routes}
    assert every == public | {path.partition("?")[0] for path in (*BODIES, *READS)}


def refuses_all(client: TestClient, desk: Desk, headers: dict[str, str], statuses: set[int]) -> None:
    before = content(desk)
    secrets = [text for _, _, text in before[2]]
    for path, body in BODIES.items():
        answer = client.post(path, json=body, headers=headers)
        assert answer.status_code in statuses, (path, answer.text)
        assert not any(text in answer.text for text in secrets)
    for path in READS:
        answer = client.get(path, headers=headers)
        assert answer.status_code in {401, 200 if 403 in statuses else 401, 403 if path in LEADS else 401}
        assert not any(text in answer.text for text in secrets)
    assert content(desk) == before


@pytest.mark.parametrize("cookie", ["", "made-up", "x" * 43])
def test_an_intruder_without_a_sign_in_reads_and_changes_nothing(
    sitter: Sitter, app: Any, desk: Desk, cookie: str
) -> None:
    document = sitter.post("next", order="sent")["document"]["id"]
    sitter.decide(document, "L3")
    intruder = browser(app, cookies={"plant_desk": cookie})
    refuses_all(intruder, desk, {"x-csrf": sitter.csrf}, {401})
    for token in ("", "made-up", SERVERS_TOKEN):
        assert intruder.post("/desk/sign-in", json={"token": token}).status_code == 401


def test_an_intruder_with_an_old_token_reads_and_changes_nothing(
    sitter: Sitter, app: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    sitter.post("next", order="sent")
    old = desk.people.renew("ana")
    desk.people.renew("ana")
    refuses_all(sitter.client, desk, {"x-csrf": sitter.csrf}, {401})
    fresh = browser(app)
    assert fresh.post("/desk/sign-in", json={"token": old}).status_code == 401
    late = Sitter(app, desk.people.renew("ana"))
    late.post("next", order="sent")
    monkeypatch.setattr(people, "LONGEST", -1.0)  # and one whose sign-in is over
    refuses_all(late.client, desk, {"x-csrf": late.csrf}, {401})


def test_another_coder_reads_and_changes_nothing_of_ones_document(sitter: Sitter, app: Any, desk: Desk) -> None:
    shown = sitter.post("next", order="sent")["document"]
    sitter.decide(shown["id"], "L3")
    other = Sitter(app, desk.people.add("berta"))
    before = content(desk)
    for path in ("/desk/decide", "/desk/finish", "/desk/undo", "/desk/comment", "/desk/unsure", "/desk/order"):
        answer = other.client.post(path, json={**BODIES[path], "document": shown["id"]}, headers={"x-csrf": other.csrf})
        assert answer.status_code == 409
        assert shown["text"] not in answer.text
    assert content(desk) == before
    for path in LEADS:
        if path in BODIES:
            answer = other.client.post(path, json=BODIES[path], headers={"x-csrf": other.csrf})
        else:
            answer = other.client.get(path)
        assert answer.status_code == 403, path
        assert shown["name"] not in answer.text
    assert content(desk) == before


def test_an_address_that_guesses_tokens_has_to_wait(app: Any, desk: Desk) -> None:
    token, client = desk.people.add("ana"), browser(app)
    answers = [client.post("/desk/sign-in", json={"token": f"made-up-{number}"}) for number in range(MOST_TRIES + 1)]
    assert [answer.status_code for answer in answers] == [401] * MOST_TRIES + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 61
    assert client.post("/desk/sign-in", json={"token": token}).status_code == 429
    assert Sitter(app, token, "other").csrf


def test_after_the_loan_the_page_says_who_has_the_document(
    sitter: Sitter, app: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LEASE", -1.0)
    document = sitter.post("next", order="sent")["document"]["id"]
    monkeypatch.undo()
    assert Sitter(app, desk.people.add("berta")).post("next", order="sent")["document"]["id"] == document
    before = content(desk)
    for path in ("decide", "finish", "undo"):
        body = {**BODIES[f"/desk/{path}"], "document": document}
        assert "berta has it now" in sitter.post(path, 409, **body)["detail"]
    assert content(desk) == before
    assert sitter.post("next", order="sent")["document"]["id"] != document


def test_another_sites_page_changes_nothing(sitter: Sitter, app: Any, desk: Desk) -> None:
    sitter.post("next", order="sent")
    for headers in ({}, {"x-csrf": "0" * 64}, {"x-csrf": sitter.csrf, "origin": "http://attacker.example"}):
        refuses_all(sitter.client, desk, headers, {403})
    answer = sitter.client.get("/desk/me", headers={"host": "attacker.example"})
    assert answer.status_code == 400
    token = desk.people.renew("ana")
    answer = browser(app).post("/desk/sign-in", json={"token": token}, headers={"origin": "http://attacker.example"})
    assert answer.status_code == 403


def test_cookie_and_policies(app: Any, desk: Desk) -> None:
    client = browser(app)
    answer = client.post("/desk/sign-in", json={"token": desk.people.add("ana")})
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/desk", "max-age="))
    assert "secure" not in cookie
    assert answer.headers["cache-control"] == "no-store"
    page = client.get("/desk")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    for path in ("/desk/texts.js", "/desk/desk.js", "/desk/lead.js", "/desk/desk.css"):
        assert client.get(path).status_code == 200
    secure = browser(app, base_url=f"https://{HOST}")
    answer = secure.post("/desk/sign-in", json={"token": desk.people.renew("ana")})
    assert "secure" in answer.headers["set-cookie"].lower()


def test_the_servers_own_token_still_guards_the_model(app: Any) -> None:
    client = browser(app)
    assert client.get("/desk").status_code == 200
    assert client.get("/desks").status_code == 401
    assert client.post("/predict", json={"texts": ["a"]}).status_code == 401
    headers = {"authorization": f"Bearer {SERVERS_TOKEN}"}
    assert client.post("/predict", json={"texts": ["a"]}, headers=headers).status_code == 200


def test_no_text_in_the_log(sitter: Sitter, desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        shown = sitter.post("next", order="sent")["document"]
        sitter.decide(shown["id"], "L3", "accept", [[0, 5]])
        sitter.finish(shown["id"])
    words = {word for word in shown["text"].split() if word.startswith(("sign", "mark"))}
    assert words
    assert not any(word in caplog.text for word in words)


def test_figures_are_for_leads(sitter: Sitter, app: Any, desk: Desk) -> None:
    shown = sitter.post("next", order="sent")["document"]
    predicted = [one["label"] for one in shown["suggested"] if one["predicted"]]
    sitter.decide(shown["id"], predicted[0])
    sitter.finish(shown["id"])
    lead = Sitter(app, desk.people.add("lea", "lead"))
    found = lead.client.get("/desk/figures").json()
    assert (found["documents"], found["finished"]) == (12, 1)
    [row] = [one for one in found["codes"] if one["label"] == predicted[0]]
    assert row == {"label": predicted[0], "suggested": 1, "accepted": 1, "rejected": 0, "added": 0}
    assert shown["name"] not in str(found)


def test_figures_are_counted_once_for_a_while(
    sitter: Sitter, app: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "figures_apart", lambda path: figures(desk))  # the other process starts in seconds
    lead = Sitter(app, desk.people.add("lea", "lead"))
    assert lead.client.get("/desk/figures").json()["finished"] == 0
    document = sitter.post("next", order="sent")["document"]["id"]
    sitter.decide(document, "L3")
    sitter.finish(document)
    assert lead.client.get("/desk/figures").json()["finished"] == 0
    monkeypatch.setattr(web, "FRESH", -1.0)
    assert lead.client.get("/desk/figures").json()["finished"] == 1


def test_a_server_without_a_desk_has_none(predictor: Predictor, tmp_path: Path) -> None:
    with TestClient(create_app(predictor)) as client:
        assert client.get("/desk").status_code == 404
