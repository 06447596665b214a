"""The page of systems whose explanations stand beside coders' marks."""

from __future__ import annotations

from plausibility import table

from plant_plugin.evaluation.plausibility import MEASURES
from plant_plugin.model.plausibility import MarkedPairs, Plausibility


def test_a_row_for_each_system_and_order() -> None:
    numbers = {name: (0.5 + place / 100, 0.4, 0.6) for place, name in enumerate(MEASURES)}
    found = {
        "planted": [Plausibility("attention", (0.5, 0.6), numbers, {"1-5": numbers, "6-10": numbers}, [(0.1, 0.2)])],
        "plain": [Plausibility("attention", (0.5,), numbers, {"1-5": numbers}, [(0.1, 0.2)])],
    }
    page = table(found, "made", MarkedPairs(documents=[3, 3, 4], columns=[0, 1, 0]))
    assert "means over 3 pairs of document and label of 2 test" in page
    assert "| system | words ordered by | runs | precision | recall | F1 | IoU | AP | hit@1 | hit@5 |" in page
    assert "| planted | attention | 2 | 50.0 [40.0, 60.0] | 51.0 [40.0, 60.0] |" in page
    assert "| system | words ordered by | 1-5 | 6-10 |" in page
    assert "| plain | attention | 52.0 | – |" in page
