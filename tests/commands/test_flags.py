"""Flags as the configuration reads them."""

from __future__ import annotations

import pytest

from plant_plugin.commands.flags import overrides_from, spread


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("--monitor_metrics A B --cpu", "--monitor_metrics A --monitor_metrics B --cpu"),
        ("--monitor_metrics A --cpu B", "--monitor_metrics A --cpu B"),
        ("--network_config.a 1", "--network_config a 1"),
        ("--network_config.a=1=2", "--network_config a 1=2"),
        ("--network_config.a -1", "--network_config a -1"),
        ("--network_config.a 1 --network_config {b:2}", "--network_config a 1 --network_config  {b:2}"),
        ("--stage1.k 5 --seed=1", "--stage1.k 5 --seed=1"),
        ("a.yml --cpu", "a.yml --cpu"),
    ],
)
def test_spread(given: str, understood: str) -> None:
    assert spread(given.split()) == understood.split(" ")


def test_options_that_were_not_given_override_nothing() -> None:
    assert overrides_from({"epochs": None, "monitor_metrics": (), "network_config": (), "stage1__k": None}) == {}
