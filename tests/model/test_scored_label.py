"""A label as a reader sees it."""

from __future__ import annotations

from plant_plugin.model.scored_label import ScoredLabel


def test_a_label_that_training_never_saw_says_so() -> None:
    assert ScoredLabel("I10", 0.5, 0.0).shown == ""
    assert ScoredLabel("I10", 0.5, 0.0, "Hypertension").shown == "Hypertension"
    assert ScoredLabel("I10", 0.5, 0.0, "Hypertension", seen=False).shown == "Hypertension (never seen in training)"
    assert ScoredLabel("I10", 0.5, 0.0).hints == ()
