"""Failed sign-ins of an address."""

from __future__ import annotations

import time

import pytest

from plant_plugin.serving.desk import tries
from plant_plugin.serving.desk.tries import MOST, SECONDS, Tries


def test_ten_failed_tries_a_minute_and_no_other_address_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    failed = Tries()
    for _ in range(MOST):
        assert failed.seconds("a") == 0
        failed.failed("a")
    assert 0 < failed.seconds("a") <= SECONDS + 1
    assert failed.seconds("b") == 0
    now += SECONDS + 1
    assert failed.seconds("a") == 0


def test_no_more_addresses_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tries, "ADDRESSES", 3)
    failed = Tries()
    for address in "abcadef":
        failed.failed(address)
    assert list(failed._failed) == ["d", "e", "f"]
