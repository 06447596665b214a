"""How much is trained in a number of minutes, by the time that steps take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from plant_plugin.config import Config
from plant_plugin.training.choose import minutes
from plant_plugin.training.choose.facts import look
from plant_plugin.training.choose.settle import settle
from plant_plugin.training.pace import Pace

Make = Callable[..., Config]
Taking = Callable[[float], Callable[[Config], Pace]]


@pytest.mark.parametrize(("seconds", "strategy"), [(1e-6, "plant"), (1.25, "end_to_end"), (1e6, "planted_scores")])
def test_minutes_decide_how_much_is_trained(
    mine: Make, monkeypatch: pytest.MonkeyPatch, seconds: float, strategy: str, taking: Taking
) -> None:
    monkeypatch.setattr(minutes, "measure", taking(8 * seconds))
    config = settle(mine(minutes=1, stage1__epochs="leave"))
    assert config.strategy == strategy
    assert config.minutes is None
    if strategy == "end_to_end":  # 30 s for epochs, of two trainings: 15 s, and an epoch takes 10
        assert config.stage2.epochs == 1


def test_minutes_leave_both_stages_where_epochs_are_given(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    monkeypatch.setattr(minutes, "measure", taking(8 * 1e-6))
    config = settle(mine(minutes=1, epochs=3))
    assert (config.strategy, config.epochs, config.stage1.epochs, config.stage2.epochs) == ("plant", 3, None, None)


def test_what_deciding_took_is_gone_from_the_minutes(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    config, facts = settle(mine()), look(mine(), set(), network=False)
    monkeypatch.setattr(minutes, "measure", taking(8 * 0.1))
    now = time.perf_counter()
    assert minutes.fit_into(1, config, facts, now).keys["strategy"] == "plant"
    assert minutes.fit_into(1, config, facts, now - 61).keys["strategy"] == "planted_scores"


def test_minutes_are_shared_out_where_most_documents_hold_numbers_alone(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    monkeypatch.setattr(minutes, "measure", taking(8 * 0.1))
    facts = replace(look(mine(), set(), network=False), words=0)
    assert minutes.fit_into(1, settle(mine()), facts, time.perf_counter()).keys["strategy"] == "plant"
