"""Pictures hold the points they were given, and are the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from pictures import Line, frequency_picture, learning_curves, line_picture, rendered, save_picture, violin_picture

from plant_plugin.errors import DataError
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


@pytest.mark.parametrize(("ending", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_a_file_is_the_same_every_time(tmp_path: Path, ending: str, start: bytes) -> None:
    paths = [tmp_path / f"{name}{ending}" for name in ("first", "second")]
    for path in paths:
        save_picture(line_picture({"y": {"a": Line([(1, 2)])}}, title="t", x="x"), path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start)
    assert first == second


def picture(kind: str, noise: float = 0.0) -> bytes:
    lines = {"a": Line([(1, 2 + noise), (3, 5)])}
    return rendered(line_picture({"P@5 (%)": lines}, title="t", x="epochs"), kind)


def test_the_same_picture_is_the_same_bytes() -> None:
    for kind in ("png", "svg"):
        assert picture(kind) == picture(kind)


def test_less_than_a_hundredth_of_a_point_changes_no_byte_of_an_svg() -> None:
    assert picture("svg") == picture("svg", 2e-6)
    assert picture("svg") != picture("svg", 1e-2)
