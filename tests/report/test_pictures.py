"""Pictures hold the points they were given, and are the same bytes every time."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib")

from plant_plugin.errors import MissingExtraError
from plant_plugin.evaluation.resampling import Comparison
from plant_plugin.report.compare import Cell, Table
from plant_plugin.report.pictures import frequency_picture, gains_picture, panels, rendered, svg_of_comparison
from plant_plugin.report.systems import System

BINNED = {"Macro-F1-present@macro:1-5": 0.1, "Macro-F1-present@macro:>500": 0.7, "P@1": 0.9}


def systems() -> list[System]:
    other = {**BINNED, "Macro-F1-present@macro:1-5": 0.3}
    return [System("a", [{"metrics": BINNED}, {"metrics": other}]), System("none", [{"metrics": {"P@1": 0.5}}])]


def points(figure, panel: int = 0) -> dict[str, list[tuple[float, float]]]:
    return {c.get_label(): [tuple(p) for p in c.lines[0].get_xydata()] for c in figure.axes[panel].containers}


def test_frequency_in_percent_mean_over_seeds_without_empty_bins() -> None:
    figure = frequency_picture(systems())
    assert points(figure)["a"] == [pytest.approx((0, 20.0)), pytest.approx((1, 70.0))]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1-5", ">500"]
    assert frequency_picture(systems()[1:]) is None
    assert svg_of_comparison(systems()[1:], Table("t", "none", 0, ["none"], {}, [], {})) == {}


def test_a_page_has_gains_and_frequencies() -> None:
    two = systems()
    test = Comparison(0.1, 0.05, 0.2, 0.01, None, 0.01, significant=True)
    table = Table("t", "none", 10, ["a", "none"], {}, ["P@1"], {("a", "P@1"): Cell(0.9, test=test)})
    table.cells["none", "P@1"] = Cell(0.5)
    found = svg_of_comparison(two, table)
    assert [caption.split()[0] for caption in found] == ["Gain", "Mean"]
    assert all(b"<svg" in picture for picture in found.values())


def test_gains_show_interval_and_significance() -> None:
    cells = {("base", "P@5"): Cell(0.5), ("base", "MAP"): Cell(0.5)}
    for name, test in (("good", Comparison(0.02, 0.01, 0.03, 0.01, None, 0.01, True)),
                       ("level", Comparison(-0.01, -0.03, 0.01, 0.4, None, 0.4, False))):  # fmt: skip
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


def test_the_same_picture_is_the_same_bytes() -> None:
    for kind in ("png", "svg"):
        first, second = (rendered(frequency_picture(systems()), kind) for _ in range(2))
        assert first == second


def test_less_than_a_hundredth_of_a_point_changes_no_byte_of_an_svg() -> None:
    def picture(noise: float) -> bytes:
        test = Comparison(0.1 + noise, 0.05 - noise, 0.2 + noise, 0.01, None, 0.01, significant=True)
        found = gains_picture(Table("t", "none", 10, ["a"], {}, ["P@1"], {("a", "P@1"): Cell(0.9, test=test)}), ["P@1"])
        assert found is not None
        return rendered(found, "svg")

    assert picture(0.0) == picture(2e-8)
    assert picture(0.0) != picture(1e-2)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[pictures\]"):
        panels("t", [("x", "y")])
