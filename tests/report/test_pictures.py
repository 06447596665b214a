"""The picture of a comparison holds its gains."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from plant_plugin.errors import MissingExtraError
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.report.compare import Cell, Table
from plant_plugin.report.pictures import gains_picture, panels, svg_of_comparison


def gain() -> Table:
    test = Comparison(0.1, 0.05, 0.2, 0.01, None, 0.01, seeds=3)
    return Table("t", "none", 10, ["a"], {}, ["P@1"], {("a", "P@1"): Cell(0.9, test=test)})


def test_a_page_has_gains_where_something_was_tested() -> None:
    ((caption, svg),) = svg_of_comparison(gain()).items()
    assert caption.startswith("Gain")
    assert b"<svg" in svg
    assert svg_of_comparison(Table("t", "none", 0, ["none"], {}, [], {})) == {}


def test_gains_show_interval_and_verdict() -> None:
    cells = {("base", "P@5"): Cell(0.5), ("base", "MAP"): Cell(0.5)}
    for name, test in (("good", Comparison(0.02, 0.01, 0.03, 0.01, None, 0.01, 3)),
                       ("level", Comparison(-0.01, -0.03, 0.01, 0.4, None, 0.4, 3))):  # fmt: skip
        cells |= {(name, "P@5"): Cell(0.5, None, test), (name, "MAP"): Cell(0.5)}
    table = Table("t", "base", 10, ["base", "good", "level"], dict.fromkeys(("base", "good", "level"), 1),
                  ["P@5", "MAP"], cells)  # fmt: skip
    figure = gains_picture(table, ["P@5", "MAP"])
    assert figure is not None
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_yticklabels()] == ["level", "good"]
    drawn = [line.get_xydata().tolist() for line in left.lines]
    assert drawn[:4] == [[[-3, 0], [1, 0]], [[-1, 0]], [[1, 1], [3, 1]], [[2, 1]]]
    assert left.lines[1].get_markerfacecolor() == "white"
    assert left.lines[3].get_markerfacecolor() != "white"
    assert len(right.lines) == 1  # the zero
    assert gains_picture(table, ["MAP"]) is None


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[pictures\]"):
        panels("t", [("x", "y")])
