from __future__ import annotations

import json
from typing import Any

import pytest
from rich.console import Console

from plant_plugin.report.summary import SIX, print_summary


def printed(result: dict[str, Any]) -> str:
    console = Console(width=100)
    with console.capture() as captured:
        print_summary(result, console=console)
    return captured.get()


def test_six_numbers_are_shown_of_many() -> None:
    metrics = {**dict.fromkeys(("R@5", "MAP", "AUC-macro"), 0.9), **{name: 0.25 for name in SIX}, "Micro-F1@0.5": None}
    text = printed({"dataset": "demo", "metrics": metrics, "counts": {"documents": 1234, "labels": 60}})
    assert (text.count("25.00"), text.count("90.00")) == (6, 0)
    assert "demo" in text
    assert "1,234 documents, 60 labels" in text
    assert "All 10 numbers" in text
    assert "--all" in text


def test_what_a_result_lacks_is_left_out() -> None:
    text = printed({"metrics": {"P@5": 0.5, "R@8": 0.1}})
    assert "50.00" in text
    assert "10.00" not in text
    assert "R@8" in printed({"metrics": {"R@8": 0.1}})  # none of the six


@pytest.mark.parametrize("value", [None, float("nan")])
def test_an_undefined_value_is_a_dash(value: float | None) -> None:
    assert "–" in printed(json.loads(json.dumps({"metrics": {"P@5": value}})))
