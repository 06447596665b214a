"""Pictures hold the points they were given, and are the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.evaluation.significance import Comparison
from plant_plugin.report.compare import Cell, Table
from plant_plugin.report.pictures import (
    Line,
    frequency_picture,
    gains_picture,
    learning_curves,
    line_picture,
    save_picture,
    svg_of_comparison,
    violin_picture,
)
from plant_plugin.report.systems import System

BINNED = {"Macro-F1-present@macro:1-5": 0.1, "Macro-F1-present@macro:>500": 0.7, "P@1": 0.9}


def systems() -> list[System]:
    other = {**BINNED, "Macro-F1-present@macro:1-5": 0.3}
    return [System("a", [{"metrics": BINNED}, {"metrics": other}]), System("none", [{"metrics": {"P@1": 0.5}}])]


def points(figure, panel: int = 0) -> dict[str, list[tuple[float, float]]]:
    return {c.get_label(): [tuple(p) for p in c.lines[0].get_xydata()] for c in figure.axes[panel].containers}


def test_lines_pass_through_their_points() -> None:
    lines = {"a": Line([(1, 2), (3, 5)]), "b": Line([(1, 1)], dashed=True, colour=0)}
    figure = line_picture({"P@5 (%)": lines, "Loss": {"a": Line([(1, 9)], [0.5])}}, title="t", x="epochs")
    assert points(figure) == {"a": [(1, 2), (3, 5)], "b": [(1, 1)]}
    assert points(figure, 1) == {"a": [(1, 9)]}
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [
        ("epochs", "P@5 (%)"),
        ("epochs", "Loss"),
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]
    one, other = (container.lines[0] for container in figure.axes[0].containers)
    assert (one.get_color(), one.get_linestyle(), other.get_linestyle()) == (other.get_color(), "-", "--")


def test_a_logarithmic_axis_is_marked_at_the_points() -> None:
    figure = line_picture({"y": {"a": Line([(67, 2), (1350, 5)])}}, title="t", x="documents", logarithmic=True)
    assert figure.axes[0].get_xscale() == "log"
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["67", "1,350"]


def test_frequency_in_percent_mean_over_seeds_without_empty_bins() -> None:
    figure = frequency_picture(systems())
    assert points(figure)["a"] == [pytest.approx((0, 20.0)), pytest.approx((1, 70.0))]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1-5", ">500"]
    assert frequency_picture(systems()[1:]) is None
    assert svg_of_comparison(systems()[1:], Table("t", "none", 0, ["none"], {}, [], {})) == {}


def test_a_page_has_gains_frequencies_and_learning_curves() -> None:
    two = systems()
    for system in two:
        system.results[0]["epochs"] = {"val": [{"P@5": 0.25, system.name: 1.0}, {"P@5": 0.5, system.name: 1.0}]}
    test = Comparison(0.1, 0.05, 0.2, 0.01, None, significant=True)
    table = Table("t", "none", 10, ["a", "none"], {}, ["P@1"], {("a", "P@1"): Cell(0.9, test=test)})
    table.cells["none", "P@1"] = Cell(0.5)
    found = svg_of_comparison(two, table)
    assert [caption.split()[0] for caption in found] == ["Gain", "Mean", "After"]
    assert all(b"<svg" in picture for picture in found.values())


def test_learning_curves_start_at_epoch_one_with_training_dashed() -> None:
    epochs = [{"P@5": 0.25, "Loss": 2.0}, {"P@5": 0.5, "Loss": 1.0}]
    results = {"one": {"epochs": {"val": epochs, "train": epochs[:1]}}, "two": {"epochs": {"val": epochs[1:]}}}
    figure = learning_curves(results, ["P@5", "Loss"], title="t")
    assert points(figure) == {
        "one, validation": [(1, 25), (2, 50)],
        "one, training": [(1, 25)],
        "two, validation": [(1, 50)],
    }
    assert points(figure, 1)["one, validation"] == [(1, 2), (2, 1)]
    assert [c.lines[0].get_linestyle() for c in figure.axes[0].containers] == ["-", "--", "-"]
    for broken in ({}, {"epochs": {"val": [{"P@1": 1.0}]}}):
        with pytest.raises(DataError, match="no epochs with P@5 on the validation split"):
            learning_curves({"run": broken}, ["P@5"], title="t")


def test_violins_show_mean_and_number() -> None:
    figure = violin_picture({"many": [1, 2, 9], "one": [4], "none": []}, title="t", x="system", y="F1 (%)")
    axes = figure.axes[0]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 4]], [[1, 4]]]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["many\nn = 3", "one\nn = 1", "none\nn = 0"]
    assert [text.get_text() for text in axes.texts] == ["mean 4.0", "mean 4.0"]


def test_gains_show_interval_and_significance() -> None:
    cells = {("base", "P@5"): Cell(0.5), ("base", "MAP"): Cell(0.5)}
    for name, test in (("good", Comparison(0.02, 0.01, 0.03, 0.01, None, True)),
                       ("level", Comparison(-0.01, -0.03, 0.01, 0.4, None, False))):  # fmt: skip
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


def test_both_files_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (save_picture(frequency_picture(systems()), tmp_path / name) for name in ("one", "two"))
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in first[1].read_bytes()
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[pictures\]"):
        line_picture({}, title="t", x="x")
