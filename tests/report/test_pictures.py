"""Pictures hold the points they were given, and are the same bytes every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.report.pictures import (
    frequency_picture,
    learning_curves,
    line_picture,
    save_picture,
    svg_of_systems,
    violin_picture,
)
from plant_plugin.report.systems import System

BINNED = {"Macro-F1-present@macro:1-5": 0.1, "Macro-F1-present@macro:>500": 0.7, "P@1": 0.9}


def systems() -> list[System]:
    other = {**BINNED, "Macro-F1-present@macro:1-5": 0.3}
    return [System("a", [{"metrics": BINNED}, {"metrics": other}]), System("none", [{"metrics": {"P@1": 0.5}}])]


def points(figure) -> dict[str, list[tuple[float, float]]]:
    return {c.get_label(): [tuple(p) for p in c.lines[0].get_xydata()] for c in figure.axes[0].containers}


def test_lines_pass_through_their_points() -> None:
    figure = line_picture({"a": [(1, 2), (3, 5)], "b": [(1, 1)]}, title="t", x="epochs", y="P@5 (%)")
    assert points(figure) == {"a": [(1, 2), (3, 5)], "b": [(1, 1)]}
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("epochs", "P@5 (%)")
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["a", "b"]


def test_frequency_in_percent_mean_over_seeds_without_empty_bins() -> None:
    figure = frequency_picture(systems())
    assert points(figure)["a"] == [pytest.approx((0, 20.0)), pytest.approx((1, 70.0))]
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["1-5", ">500"]
    assert frequency_picture(systems()[1:]) is None
    assert svg_of_systems(systems()[1:]) == {}


def test_learning_curves_start_at_epoch_one(tmp_path: Path) -> None:
    path = tmp_path / "logs.json"
    path.write_text(json.dumps({"val": [{"P@5": 0.25, "Loss": 2.0}, {"P@5": 0.5, "Loss": 1.0}]}))
    assert points(learning_curves({"run": path}, "P@5"))["run"] == [(1, 25), (2, 50)]
    assert points(learning_curves({"run": path}, "Loss"))["run"] == [(1, 2), (2, 1)]
    for metric, log in (("P@1", path), ("P@5", tmp_path / "none.json")):
        with pytest.raises(DataError, match=f"no log with {metric}"):
            learning_curves({"run": log}, metric)


def test_violins_show_median_and_number() -> None:
    figure = violin_picture({"many": [1, 2, 9], "one": [4], "none": []}, title="t", x="system", y="F1 (%)")
    axes = figure.axes[0]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 2]], [[1, 4]]]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["many\nn = 3", "one\nn = 1", "none\nn = 0"]


def test_both_files_are_the_same_every_time(tmp_path: Path) -> None:
    first, second = (save_picture(frequency_picture(systems()), tmp_path / name) for name in ("one", "two"))
    assert [path.suffix for path in first] == [".png", ".svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in first[1].read_bytes()
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[pictures\]"):
        line_picture({}, title="t", x="x", y="y")
