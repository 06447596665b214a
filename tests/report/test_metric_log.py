"""metrics.csv, and what becomes of it when a run is resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import PlantError
from plant_plugin.report.metric_log import MetricLog, Place, read_metrics

ROWS = [
    (Place("stage1", 1, 10, "train"), {"loss": 0.1}),
    (Place("stage1", 1, 12, "val"), {"attention-nDCG@10": 0.25}),
    (Place("stage2", 1, 10, "train"), {"loss": 1 / 3}),
    (Place("stage2", 1, 12, "val"), {"P@1": 0.5, "Loss": float("nan")}),
    (Place("stage2", 2, 20, "train"), {"loss": 0.2}),
]


def written(folder: Path) -> MetricLog:
    folder.mkdir(exist_ok=True)
    log = MetricLog(folder)
    for stage in ("stage1", "stage2"):
        log.go_on(stage, 0)
        for place, metrics in ROWS:
            if place.stage == stage:
                log.write(place, metrics)
    return log


def test_a_line_for_each_number(tmp_path: Path) -> None:
    log = written(tmp_path / "run")
    lines = log.path.read_text().splitlines()
    assert lines[:3] == ["stage,epoch,step,split,metric,value", "stage1,1,10,train,loss,0.1",
                         "stage1,1,12,val,attention-nDCG@10,0.25"]  # fmt: skip
    assert lines[5] == "stage2,1,12,val,Loss,nan"
    rows = read_metrics(log.path)
    assert rows[2] == (ROWS[2][0], "loss", 1 / 3)  # to the last bit
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("stage", "step"), [("stage1", 0), ("stage1", 10), ("stage1", 12), ("stage2", 0), ("stage2", 12), ("test", 0)]
)
def test_what_a_resumed_run_measures_again_is_forgotten(tmp_path: Path, stage: str, step: int) -> None:
    log = written(tmp_path / "run")
    rows = [*ROWS, (Place("test", 0, 0, "test"), {"P@1": 0.5})]
    log.write(*rows[-1])
    with open(log.path, "a") as stream:
        stream.write("stage2,3,30,tr")  # killed in the middle of a line
    log.go_on(stage, step)
    earlier = [row for row in rows if row[0].stage != stage or 0 < row[0].step <= step]
    assert [place for place, *_ in read_metrics(log.path)] == [place for place, metrics in earlier for _ in metrics]
    assert log.path.read_text().endswith("\n")


def test_lines_that_are_torn_are_passed_over(tmp_path: Path) -> None:
    log = written(tmp_path / "run")
    whole = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*whole[:2], b"st\xff\0e2,1\n", b"stage9,1,1,val,P@1,0.5\n", *whole[3:]]))
    log.go_on("test", 0)
    assert log.path.read_bytes() == b"".join([*whole[:2], *whole[3:]])


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    log = written(tmp_path / "run")
    log.path.unlink()
    log.path.parent.rmdir()
    with pytest.raises(PlantError, match=r"metrics\.csv"):
        log.write(*ROWS[0])
