"""Few documents of many labels get planted scores alone, and minutes decide how much of a network is trained."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from plant_plugin.config import Config
from plant_plugin.training import pace
from plant_plugin.training.choose.decisions import Decision, Facts, decide
from plant_plugin.training.choose.facts import look
from plant_plugin.training.choose.network import fit_into, without_network
from plant_plugin.training.choose.settle import settle
from plant_plugin.training.pace import Pace

Make = Callable[..., Config]
Taking = Callable[[float], Callable[[Config], Pace]]

CASES = Facts(100, 666, 11.2, 322, 900, "es", network=True)


def strategy(decisions: list[Decision]) -> object:
    (found,) = [decision.keys["strategy"] for decision in decisions if "strategy" in decision.keys]
    return found


def test_no_network_is_trained_and_nothing_is_said_of_its_stages() -> None:
    found = without_network(decide(CASES), CASES, set())
    assert strategy(found) == "planted_scores"
    assert "100 documents, 1.7 a label" in found[0].reason
    keys = {key for decision in found for key in decision.keys}
    assert not any(key.startswith("stage") for key in keys)
    assert {"max_seq_length", "evidence.mine", "planted_scores.lead", "val_metric", "refit"} <= keys


@pytest.mark.parametrize(
    "facts",
    [
        replace(CASES, documents=101),
        replace(CASES, labels=52, labels_per_document=5.0),  # made-up notes, on which a network is better
        replace(CASES, network=False),
        replace(CASES, scores=False),
    ],
)
def test_others_are_decided_as_before(facts: Facts) -> None:
    assert without_network(decide(facts), facts, set()) == decide(facts)


def test_the_keys_of_plant_yml_ask_for_no_network(mine: Make, tmp_path: Path) -> None:
    lines = (f"A{number} B{number % 40}\ta text with words {number} and {number % 9}\n" for number in range(60))
    (tmp_path / "train.txt").write_text("".join(lines))
    sizes = {"network_config__hidden_size": "leave", "network_config__embed_dim": "leave"}
    config = settle(mine(**sizes, network_config__pool_size="leave"))
    assert config.strategy == "planted_scores"
    assert "60 documents, 1.2 a label" in config.settled
    assert settle(mine(**sizes, network_config__pool_size="leave", stage2__epochs=3)).strategy == "auto"


def test_whoever_gives_a_key_of_a_stage_gets_a_network() -> None:
    assert without_network(decide(CASES), CASES, {"stage2.epochs"}) == decide(CASES)


def test_what_deciding_took_is_gone_from_the_minutes(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    config, facts = settle(mine()), look(mine(), set(), network=False)
    monkeypatch.setattr(pace, "measure", taking(8 * 0.1))
    now = time.perf_counter()
    assert fit_into(1, config, facts, now).keys["stage1.epochs"]
    assert fit_into(1, config, facts, now - 61).keys["strategy"] == "planted_scores"


def test_minutes_are_shared_out_where_most_documents_hold_numbers_alone(
    mine: Make, monkeypatch: pytest.MonkeyPatch, taking: Taking
) -> None:
    monkeypatch.setattr(pace, "measure", taking(8 * 0.1))
    facts = replace(look(mine(), set(), network=False), words=0)
    assert fit_into(1, settle(mine()), facts, time.perf_counter()).keys["stage1.epochs"]
