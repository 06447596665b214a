"""Explanations as they are printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from plant_plugin import Predictor
from plant_plugin.model.printed import print_explanation
from plant_plugin.model.word_strength import CONTRIBUTION

TEXT = "filler1 filler2\nsign3x, filler3 " + "filler4 " * 40


@pytest.mark.parametrize(
    ("terminal", "marked"), [(False, "filler2 **sign3x**, filler3"), (True, "filler2 sign3x, filler3")]
)
def test_words_are_marked_where_nothing_is_bold(trained: Path, terminal: bool, marked: str) -> None:
    console = Console(width=60, force_terminal=terminal, no_color=True, highlight=False)
    with console.capture() as captured:
        print_explanation(Predictor.load(trained, device="cpu").explain(TEXT, ["L3"]), console)
    shown = captured.get().replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert marked in " ".join(shown.split())
    if not terminal:
        assert marked in shown  # on one line, however long


def test_a_row_of_nothing_is_left_out(trained: Path) -> None:
    explanation = Predictor.load(trained, device="cpu").explain(TEXT, ["L3"])
    [evidence] = explanation.labels
    assert evidence.contribution is not None
    small = replace(evidence, measures={**evidence.measures, CONTRIBUTION: evidence.contribution / 5})
    console = Console(width=60, no_color=True)
    with console.capture() as captured:
        print_explanation(replace(explanation, labels=[small]), console)
    table = captured.get().split("MIG", 1)[1]
    assert "+0.28" in table
    assert "0.00 " not in table.split("planted scores")[0]


def test_hints_are_printed(coded: Path, wrong_side: str) -> None:
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        print_explanation(Predictor.load(coded, device="cpu").explain(wrong_side, ["S72.001A"]), console)
    assert "\n  hint: the code says right, the words that speak for it say left\n" in captured.get()
