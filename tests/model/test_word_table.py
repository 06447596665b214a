"""The strongest words of a label as a table."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.scored_label import ScoredLabel
from plant_plugin.model.word_strength import ATTENTION, CONTRIBUTION, MIG
from plant_plugin.model.word_table import word_table

TEXT = "fever and cough"
WORDS = np.array([[0, 5], [6, 9], [10, 15]])
ADDED = np.array([1.5, -0.001, -0.25], np.float32)
SHARES = np.array([0.5, 0.25, 0.125], np.float32)


@pytest.mark.parametrize(
    ("measures", "shown"),
    [
        ({CONTRIBUTION: ADDED}, ["word contribution", "fever +1.50", "cough -0.25"]),
        ({CONTRIBUTION: ADDED, ATTENTION: 0 * SHARES}, ["word contribution", "fever +1.50", "cough -0.25"]),
        ({ATTENTION: SHARES}, ["word attention", "fever 50.0%", "and 25.0%", "cough 12.5%"]),
        (
            {CONTRIBUTION: ADDED, ATTENTION: SHARES, MIG: SHARES},
            ["word contribution attention MIG", "fever +1.50 50.0% 0.50", "cough -0.25 12.5% 0.12"],
        ),
    ],
)
def test_a_column_for_each_number_that_the_model_has(measures: dict[str, np.ndarray], shown: list[str]) -> None:
    evidence = LabelEvidence(ScoredLabel("R05", 0.9, 2.0, None), True, measures, 0.0, 0.0, 0.0, [])
    explanation = Explanation(TEXT, WORDS, [evidence], "model", 3, False, 0.0)
    printed = io.StringIO()
    Console(file=printed, width=100).print(word_table(explanation, evidence))
    assert [" ".join(line.split()) for line in printed.getvalue().splitlines()] == shown
