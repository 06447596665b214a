"""Which hierarchies go round in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.circles import refuse_circles
from plant_plugin.errors import DataError


def test_a_label_with_several_above_it_that_meet_again_is_no_circle() -> None:
    refuse_circles({"a": ["b", "c"], "b": ["d"], "c": ["d"]}, Path("t.tsv"))


@pytest.mark.parametrize(
    ("above", "way"),
    [
        ({"a": ["b"], "b": ["a"]}, r"(a above b above a|b above a above b)"),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, r"(b above c above b|c above b above c)"),
    ],
)
def test_a_circle_is_shown(above: dict[str, list[str]], way: str) -> None:
    with pytest.raises(DataError, match=rf"t\.tsv: labels stand above themselves: {way}\n"):
        refuse_circles(above, Path("t.tsv"))
