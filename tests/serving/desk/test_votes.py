"""What coders say together."""

from __future__ import annotations

from plant_plugin.serving.desk.votes import margins


def test_more_than_half_give_a_label_and_half_are_split() -> None:
    assert margins([["a", "b"], ["a"], ["a", "c"]]) == {"a": 3, "b": -1, "c": -1}
    assert margins([["a", "b"], ["a"]]) == {"a": 2, "b": 0}
    assert margins([[], []]) == {}
