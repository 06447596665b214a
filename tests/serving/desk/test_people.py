"""Accounts, tokens and sign-ins."""

from __future__ import annotations

import sqlite3
import time

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.errors import ConfigError
from plant_plugin.serving.desk import people
from plant_plugin.serving.desk.store import Desk


def test_tokens_are_kept_as_hashes_and_sign_ins_end(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    token = desk.people.add("one")
    signed = desk.people.sign_in(token)
    assert signed is not None
    assert desk.people.signed_in(signed.secret) == signed
    content = b"".join(path.read_bytes() for path in desk.path.parent.iterdir())
    assert token.encode() not in content
    assert signed.secret.encode() not in content
    assert desk.people.sign_in(token + "x") is None
    again = desk.people.sign_in(desk.people.renew("one"))
    assert again is not None
    assert desk.people.signed_in(signed.secret) is None
    assert desk.people.sign_in(token) is None
    now = time.time()
    for minutes in range(30, 12 * 60, 30):
        monkeypatch.setattr(time, "time", lambda at=now + 60 * minutes: at)
        assert desk.people.signed_in(again.secret) is not None, minutes
    monkeypatch.setattr(time, "time", lambda: now + people.LONGEST + 1)
    assert desk.people.signed_in(again.secret) is None


def test_a_sign_in_ends_without_a_request_and_when_it_is_ended(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    token = desk.people.add("one")
    one, other = desk.people.sign_in(token), desk.people.sign_in(token)
    assert one is not None
    assert other is not None
    desk.people.sign_out(one.secret)
    assert desk.people.signed_in(one.secret) is None
    assert desk.people.signed_in(other.secret) is not None
    later = time.time() + people.IDLE + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert desk.people.signed_in(other.secret) is None
    assert desk.people.renew("one", close=True) != token
    assert desk.people.sign_in(token) is None


def test_whoever_has_no_token_takes_no_lock(desk: Desk) -> None:
    desk.people.add("one")
    with sqlite3.connect(desk.path) as other:
        other.execute("BEGIN IMMEDIATE")  # else this would wait for half a minute, and others for it
        begun = time.monotonic()
        assert desk.people.sign_in("made-up") is None
        assert time.monotonic() - begun < 5
        other.rollback()


@pytest.mark.parametrize("name", ["", "two words", "x" * 61, "../x", "model"])
def test_names_that_are_none(desk: Desk, name: str) -> None:
    with pytest.raises(ConfigError, match="name"):
        desk.people.add(name)


def test_names_are_given_once(desk: Desk) -> None:
    desk.people.add("one")
    with pytest.raises(ConfigError, match="there is a coder"):
        desk.people.add("one")
    with pytest.raises(ConfigError, match="no coder"):
        desk.people.renew("two")
