"""Learning curves: what was kept of a run, drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.report.curves import learning_curves, svg_of_curves
from plant_plugin.report.metric_log import MetricLog, Place


def write_run(folder: Path, values: list[float], losses: list[float] = ()) -> Path:  # type: ignore[assignment]
    folder.mkdir(parents=True)
    (folder / "logs.json").write_text(json.dumps({"val": [{"nDCG@5": value} for value in values], "config": {}}))
    log = MetricLog(folder)
    log.go_on("stage2", 0)
    for epoch, loss in enumerate(losses, 1):
        log.write(Place("stage2", epoch, epoch * 10, "train"), {"loss": loss})
    return folder


def test_curves_of_a_run_by_epoch(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [0.5, 0.75], [0.3, 0.2])
    assert learning_curves(run) == {"nDCG@5": {1: 0.5, 2: 0.75}, "loss": {1: 0.3, 2: 0.2}}
    write_run(run / "first_pass", [0.25])
    assert learning_curves(run) == {"nDCG@5": {1: 0.25}}, "validation documents are trained on in the second training"
    assert learning_curves(tmp_path) == {}


def test_a_line_for_each_run_and_a_name_for_each_system(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = {"a": [write_run(tmp_path / f"a{seed}", [0.5, 0.6], [0.3, 0.1]) for seed in (1, 2)],
            "b": [write_run(tmp_path / "b", [0.4, 0.7])], "none": [tmp_path]}  # fmt: skip
    picture = svg_of_curves(runs).decode()
    assert "<svg" in picture
    assert "nDCG@5" in picture
    assert "loss" in picture
    assert picture.count('id="legend_') == 2
    assert "loss" not in svg_of_curves(runs, ["nDCG@5"]).decode()
    with pytest.raises(DataError, match=r"no run has a curve of MAP.*\n.*choose from loss, nDCG@5"):
        svg_of_curves(runs, ["MAP"])
    with pytest.raises(DataError, match="no run has trained a network"):
        svg_of_curves({"none": [tmp_path]})
