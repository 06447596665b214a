"""The simulated coders of ``benchmarks/teach.py``."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
import teach

GOLD = {"A": [(0, 5)], "B": [(6, 9)], "C": [(10, 12), (20, 22)]}
SUGGESTED = [
    {"label": "A", "spans": [(3, 8)]},  # touches its proof
    {"label": "B", "spans": [(0, 5)]},  # other words
    {"label": "X", "spans": []},  # false
]


def decided(mistakes: float, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Any]:
    monkeypatch.setattr(teach, "MISTAKES", mistakes)
    found, done = teach.coded(SimpleNamespace(suggested=SUGGESTED), GOLD, 30, random.Random(0))
    return {one.label: (one.kind, one.spans) for one in found}, done


def test_without_mistakes_a_coder_gives_the_gold_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    found, done = decided(0.0, monkeypatch)
    assert found == {
        "A": ("accept", [(3, 8)]), "B": ("accept", GOLD["B"]), "X": ("reject", []), "C": ("add", GOLD["C"]),
    }  # fmt: skip
    assert done == {"words": 30, "check": 3, "mark": 3, "search": 1}


def test_a_mistake_accepts_what_is_false_and_misses_what_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    found, done = decided(1.0, monkeypatch)
    assert found == {"A": ("reject", []), "B": ("reject", []), "X": ("accept", [])}
    assert done["search"] == 0


def test_time_is_the_sum_of_what_is_done() -> None:
    pace = teach.Pace(words=60, check=2, search=10, mark=3)
    assert pace.seconds(teach.by_hand(GOLD, 30)) == 30 + 3 * 10 + 4 * 3
    assert pace.seconds(teach.Counter({"words": 30, "check": 3, "mark": 3, "search": 1})) == 30 + 6 + 9 + 10
